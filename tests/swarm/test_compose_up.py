"""`docker compose up` on one engine: the same file, the same experiments. The engine has to be a Swarm of one node."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from jqueuer.client import ClientError
from tests.lab import available
from tests.lab.compose import PROJECT, ComposedStack, composed_stack
from tests.swarm.witness import Witness

Wait = Callable[[Callable[[], object], float], None]

HELLO = """
name: hello
image: busybox
deadline: 2m
containers: {min: 1, max: 2}
jobs:
  - {id: hello, command: [sh, -c, "echo hello; echo done >result.txt"], outputs: [result.txt]}
  - {id: again, command: [sh, -c, "echo hello again"]}
"""


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ComposedStack]:
    available.require(available.why_no_compose)
    with composed_stack(tmp_path_factory.mktemp("composed")) as stack:
        yield stack


def running(stack: ComposedStack, eventually: Wait, name: str) -> tuple[Witness, str]:
    """Six jobs of 3 s, two of which are being run."""
    stack.become_swarm()
    witness = Witness(stack.shared, name)
    body = json.dumps(witness.describe(jobs=6, seconds=3, containers=2)).encode()
    experiment_id = stack.api.submit_bytes(body, "application/json")["id"]
    eventually(lambda: len(witness.busy_containers()) == 2, 60)
    return witness, experiment_id


def test_an_experiment_is_accomplished_once_the_engine_is_a_swarm(stack: ComposedStack, tmp_path: Path) -> None:
    with pytest.raises(ClientError, match="docker swarm init"):
        stack.api.submit_bytes(HELLO.encode())
    stack.become_swarm()
    experiment_id = stack.api.submit_bytes(HELLO.encode())["id"]
    stack.api.wait(experiment_id)
    ended = stack.api.experiment(experiment_id)
    assert ended["state"] == "accomplished", ended["reason"]
    (attempt,) = stack.api.job(experiment_id, "hello")["attempts"]
    assert attempt["node"] == stack.node.name
    assert b"".join(stack.api.log(experiment_id, "hello", 1, "stdout")) == b"hello\n"
    (file,) = stack.api.download(experiment_id, tmp_path)
    assert file.read_text() == "done\n"


def test_down_lets_running_jobs_finish_and_the_next_up_goes_on(stack: ComposedStack, eventually: Wait) -> None:
    witness, experiment_id = running(stack, eventually, "down")
    stack.down()
    assert not witness.unfinished()
    assert 0 < len(witness.ended()) < 6
    stack.up()
    stack.api.wait(experiment_id)
    ended = stack.api.experiment(experiment_id)
    assert (ended["jobs"]["accomplished"], ended["statistics"]["attempts"]) == (6, 6), ended["reason"]


def test_after_a_power_failure_all_of_it_comes_back_by_itself(stack: ComposedStack, eventually: Wait) -> None:
    witness, experiment_id = running(stack, eventually, "power-failure")
    stack.node.power_off()
    stack.node.power_on()
    stack.wait_ready()
    stack.api.wait(experiment_id)
    ended = stack.api.experiment(experiment_id)
    assert ended["jobs"]["accomplished"] == 6, ended["reason"]
    assert set(witness.ended().values()) == {1}


def test_every_service_is_well(stack: ComposedStack, eventually: Wait) -> None:
    eventually(lambda: {*stack.states().values()} == {"healthy", "running"}, 60)
    assert sorted(name for name, state in stack.states().items() if state == "running") == ["prometheus", "statsd"]


def test_manager_and_agent_are_not_root_there_either(stack: ComposedStack) -> None:
    for service in ("manager", "agent"):
        labels = [f"com.docker.compose.project={PROJECT}", f"com.docker.compose.service={service}"]
        (container,) = stack.node.docker.containers.list(filters={"label": labels})
        rows = container.top(ps_args="-o uid,pid,comm")["Processes"]
        users = {uid for uid, _, program in rows if program != "docker-init"}
        assert users
        assert "0" not in users, rows
