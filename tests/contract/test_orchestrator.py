"""What every orchestrator does with the experiment services."""

from __future__ import annotations

from jqueuer.adapters.redis_store import RedisJobLedger
from jqueuer.adapters.redis_store.connection import StoreClient
from jqueuer.model import Job, Task
from jqueuer.states import ContainerState
from tests.contract.orchestrators import (
    PLAIN,
    SECONDS,
    Wait,
    World,
    accept,
    idle,
)
from tests.contract.orchestrators import lab as lab
from tests.contract.orchestrators import swarm as swarm
from tests.contract.orchestrators import world as world


def test_a_service_has_as_many_containers_as_were_asked_for(world: World, eventually: Wait) -> None:
    assert world.orchestrator.status("e1") is None
    world.orchestrator.create("e1", PLAIN, 2)
    eventually(lambda: idle(world) == (2, 2), SECONDS)
    world.orchestrator.scale("e1", 3)
    eventually(lambda: idle(world) == (3, 3), SECONDS)
    world.orchestrator.scale("e1", 1)
    eventually(lambda: idle(world) == (1, 1), SECONDS)
    world.orchestrator.scale("e1", 0)
    eventually(lambda: idle(world) == (0, 0), SECONDS)


def test_containers_that_take_no_jobs_are_given_up_and_as_many_requested(world: World, eventually: Wait) -> None:
    world.orchestrator.create("e1", PLAIN, 2)
    eventually(lambda: idle(world) == (2, 2), SECONDS)
    hangs = world.registry.observed("e1")[0].id
    world.orchestrator.replace("e1", [hangs])
    assert world.registry.draining("e1") == {hangs}
    status = world.orchestrator.status("e1")
    assert status is not None
    assert status.requested == 2


def test_creating_it_again_adopts_it(world: World) -> None:
    world.orchestrator.create("e1", PLAIN, 2)
    world.orchestrator.create("e1", PLAIN, 5)
    status = world.orchestrator.status("e1")
    assert status is not None
    assert status.requested == 2


def test_a_destroyed_service_is_seen_until_its_containers_have_gone_and_can_be_created_anew(
    world: World, eventually: Wait
) -> None:
    world.orchestrator.create("e1", PLAIN, 2)
    eventually(lambda: idle(world) == (2, 2), SECONDS)
    world.orchestrator.destroy("e1")
    world.orchestrator.destroy("e1")
    status = world.orchestrator.status("e1")
    assert status is not None
    assert (status.requested, len(status.containers)) == (0, 2)
    eventually(lambda: idle(world) is None, SECONDS)
    world.orchestrator.create("e1", PLAIN, 1)
    eventually(lambda: idle(world) == (1, 1), SECONDS)


def test_a_container_that_holds_a_job_is_busy_and_says_which(
    world: World, client: StoreClient, eventually: Wait
) -> None:
    accept(client, PLAIN)
    ledger = RedisJobLedger(client)
    ledger.add("e1", [Job(id="j1", tasks=(Task(command=("true",)),))])
    world.orchestrator.create("e1", PLAIN, 2)
    eventually(lambda: idle(world) == (2, 2), SECONDS)
    container = world.registry.observed("e1")[0].id
    assert ledger.claim("e1", "j1", container=container, node="n") is not None
    status = world.orchestrator.status("e1")
    assert status is not None
    assert [(found.id, found.job) for found in status.containers if found.state is ContainerState.BUSY] == [
        (container, "j1")
    ]
