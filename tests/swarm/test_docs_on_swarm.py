"""The documentation's commands for a Swarm, typed as root on its manager node."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.docs.commands import Command
from tests.docs.elsewhere import ELSEWHERE, IN_A_DISASTER
from tests.docs.manager_node import give_secrets, manager_node, undeploy
from tests.docs.pages import Surrounding
from tests.docs.running import pages_in, run, scripts_in
from tests.docs.terminal import Terminal
from tests.lab.images import images
from tests.swarm.conftest import Cluster

BEFORE = """
export JQUEUER_TOKEN_FILE=secrets/admin_token
ID=$(jqueuer submit experiments/hello.yaml)
jqueuer wait "$ID"
MANAGER=$(docker ps --quiet --filter label=com.docker.swarm.service.name=jqueuer_manager)
docker exec "$MANAGER" jqueuer backup - > jqueuer.tar.gz
"""
LOSS = """
STORE=$(docker ps --quiet --filter label=com.docker.swarm.service.name=jqueuer_redis)
docker exec "$STORE" sh -c 'REDISCLI_AUTH=$(cat /run/secrets/jqueuer_store_password) redis-cli flushall'
"""
AFTER = """
jqueuer status "$ID"
jqueuer results "$ID" --download restored
test "$(wc -l < restored/post/greetings.txt)" -eq 24
"""


@pytest.fixture(scope="module")
def lent(cluster: Cluster) -> Iterator[Cluster]:
    """The cluster, which is whole again afterwards."""
    yield cluster
    undeploy(cluster)
    cluster.deploy(images().tag)
    cluster.wait_ready()


@pytest.mark.parametrize("page", pages_in(Surrounding.SWARM_UP))
def test_the_commands_of_a_page_work_where_the_stack_is_deployed(
    page: str, lent: Cluster, tmp_path_factory: pytest.TempPathFactory
) -> None:
    lent.wait_ready()  # after what the page before did
    place = manager_node(lent, tmp_path_factory.mktemp("page"))
    give_secrets(lent, place)
    run(scripts_in(page, Surrounding.SWARM_UP), place)


def test_a_store_that_is_lost_comes_back_by_the_commands_of_the_page(
    lent: Cluster, tmp_path_factory: pytest.TempPathFactory
) -> None:
    lent.wait_ready()
    place = manager_node(lent, tmp_path_factory.mktemp("page"))
    give_secrets(lent, place)
    recovery = "\n".join(entry.command for entry in ELSEWHERE if entry.by == IN_A_DISASTER)
    with Terminal(place, patience_seconds=300) as terminal:
        terminal.run(Command("before the loss", 1, BEFORE))
        terminal.run(Command("the loss of the store", 1, LOSS))
        terminal.run(Command("docs/operations.md, recovery", 1, recovery))
        terminal.run(Command("after it", 1, AFTER))


@pytest.mark.parametrize("page", pages_in(Surrounding.SWARM))
def test_the_commands_of_a_page_work_on_an_empty_swarm(
    page: str, lent: Cluster, tmp_path_factory: pytest.TempPathFactory
) -> None:
    undeploy(lent)
    run(scripts_in(page, Surrounding.SWARM), manager_node(lent, tmp_path_factory.mktemp("page")))
