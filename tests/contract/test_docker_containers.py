"""What the containers of a Docker engine owe their agent besides: two agents, lost events, users' own services."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from jqueuer.adapters.redis_store.connection import StoreClient
from jqueuer.records import ContainerStatus
from jqueuer.states import ContainerState
from jqueuer_agent.adapters import docker_events
from jqueuer_agent.adapters.docker_ownership import SERVICE
from tests.contract.engines import NODE, DockerEngine, Wait, World, X, Y, docker_engine_on, one, one_node
from tests.lab.node import Node


@pytest.fixture
def world(client: StoreClient) -> World:
    return World(client)


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Node]:
    with one_node(tmp_path_factory.mktemp("lab")) as node:
        yield node


@pytest.fixture
def docker_engine(node: Node, world: World, tmp_path: Path) -> Iterator[DockerEngine]:
    with docker_engine_on(node, world, tmp_path / "held") as engine:
        yield engine


def test_only_containers_of_known_experiments_are_listed(docker_engine: DockerEngine, eventually: Wait) -> None:
    """Those of another installation bear our label, too."""
    docker_engine.begin(app="web")
    docker_engine.begin(jqueuer_experiment="elsewhere-cccccc")
    ours = docker_engine.begin(jqueuer_experiment=Y)
    handle = one(docker_engine.containers, eventually)
    assert (handle.id, handle.experiment_id) == (ours, Y)


def test_the_agent_is_woken_by_what_happens(
    docker_engine: DockerEngine, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It need not wait for the next listing."""
    monkeypatch.setattr(docker_events, "RESYNC_SECONDS", 1000.0)
    docker_engine.containers.stop()
    changed = threading.Event()
    agent = docker_engine.another_agent(changed)
    ours = docker_engine.begin()
    while not agent.list():
        assert changed.wait(20)
        changed.clear()
    docker_engine.give_up(ours)
    while not agent.list()[0].draining:
        assert changed.wait(20)
        changed.clear()


def test_what_the_orchestrator_marked_drains_though_no_signal_was_seen(
    docker_engine: DockerEngine, world: World, eventually: Wait
) -> None:
    ours = docker_engine.begin()
    handle = one(docker_engine.containers, eventually)
    world.registry.mark_draining(X, [ours])
    eventually(lambda: docker_engine.containers.list()[0].draining)
    docker_engine.containers.end(handle, planned=True)
    assert not docker_engine.runs(ours)


def test_a_container_that_dies_by_itself_vanishes(docker_engine: DockerEngine, world: World, eventually: Wait) -> None:
    ours = docker_engine.begin()
    handle = one(docker_engine.containers, eventually)
    docker_engine.node.docker.containers.get(ours).kill("SIGKILL")
    eventually(lambda: docker_engine.containers.list() == [])
    assert world.states() == {ours: ContainerState.STARTING}, "its manager still has to be ended"
    docker_engine.containers.end(handle, planned=False)
    assert world.states() == {}


def test_a_paused_container_has_not_gone(docker_engine: DockerEngine, eventually: Wait) -> None:
    ours = docker_engine.begin()
    one(docker_engine.containers, eventually)
    docker_engine.node.docker.containers.get(ours).pause()
    later = docker_engine.another_agent()
    assert [handle.id for handle in docker_engine.containers.list()] == [ours]
    docker_engine.containers.leave(docker_engine.containers.list()[0])
    assert [handle.id for handle in later.list()] == [ours]


def test_an_agent_finds_what_was_there_and_what_was_given_up_before_it_came(
    docker_engine: DockerEngine, eventually: Wait
) -> None:
    docker_engine.containers.stop()
    staying, leaving = docker_engine.begin(), docker_engine.begin()
    docker_engine.give_up(leaving)
    later = docker_engine.another_agent()
    eventually(lambda: {(h.id, h.draining) for h in later.list()} == {(staying, False), (leaving, True)})


def test_two_agents_of_a_node_never_share_a_container(
    docker_engine: DockerEngine, world: World, eventually: Wait
) -> None:
    """At an update the old agent finishes jobs while the new one takes over what it has left."""
    ours = docker_engine.begin()
    old = docker_engine.containers
    handle = one(old, eventually)
    old.ready(handle)
    [before] = world.registry.observed(X)
    new = docker_engine.another_agent()
    assert new.list() == []
    assert world.states() == {ours: ContainerState.IDLE}
    old.leave(handle)
    assert docker_engine.runs(ours)
    assert [found.id for found in new.list()] == [ours]
    assert old.list() == []
    assert world.registry.observed(X)[0].started_at == before.started_at


def test_a_container_that_was_left_and_then_given_up_is_ended_by_an_agent_that_is_going(
    docker_engine: DockerEngine, eventually: Wait
) -> None:
    """A drained node gets no new agent."""
    ours = docker_engine.begin()
    going = docker_engine.containers
    going.leave(one(going, eventually))
    assert going.list() == []
    docker_engine.give_up(ours)
    eventually(lambda: [handle.draining for handle in going.list()] == [True])
    going.end(going.list()[0], planned=True)
    assert not docker_engine.runs(ours)
    assert going.list() == []


def test_the_registry_forgets_what_the_engine_does_not_have(docker_engine: DockerEngine, world: World) -> None:
    for node, container_id in ((NODE, "gone"), ("node2", "elsewhere")):
        status = ContainerStatus(id=container_id, node=node, state=ContainerState.IDLE, started_at=1.0)
        world.registry.observe(X, status)
    ours = docker_engine.begin()
    docker_engine.another_agent()
    docker_engine.containers.list()
    assert docker_engine.containers.bury([X, Y]) == [(X, "gone")]
    assert world.states().keys() == {"elsewhere", ours}


def test_an_engine_that_crashes_is_followed_again(docker_engine: DockerEngine, world: World, eventually: Wait) -> None:
    before = docker_engine.begin()
    handle = one(docker_engine.containers, eventually)
    docker_engine.node.kill_engine()
    docker_engine.node.wait()
    eventually(lambda: docker_engine.containers.list() == [], 60.0)
    docker_engine.containers.end(handle, planned=False)
    after = docker_engine.begin()
    assert one(docker_engine.containers, eventually).id == after != before
    docker_engine.give_up(after)
    eventually(lambda: docker_engine.containers.list()[0].draining)


# A user's own service.


def test_containers_of_an_adopted_service_are_worked_in_and_never_killed(
    docker_engine: DockerEngine, world: World, eventually: Wait
) -> None:
    world.know("old-cccccc", container_name="solver", later_seconds=2.0)
    world.know("new-dddddd", container_name="solver", later_seconds=3.0)
    theirs = docker_engine.begin(**{SERVICE: "solver"})
    docker_engine.begin(**{SERVICE: "other"})
    for experiment_id in ("new-dddddd", "old-cccccc"):
        world.registry.request(experiment_id, 1)
    handle = one(docker_engine.containers, eventually)
    assert (handle.id, handle.experiment_id) == (theirs, "old-cccccc")
    docker_engine.containers.ready(handle)
    world.registry.withdraw("old-cccccc")
    eventually(lambda: docker_engine.containers.list()[0].draining)
    docker_engine.containers.end(docker_engine.containers.list()[0], planned=True)
    [handle] = docker_engine.containers.list()
    assert (handle.id, handle.experiment_id, handle.draining) == (theirs, "new-dddddd", False)
    docker_engine.containers.end(handle, planned=False)
    assert docker_engine.runs(theirs)
    world.registry.withdraw("new-dddddd")
    eventually(lambda: docker_engine.containers.list() == [])


def test_an_adopted_container_that_its_user_gives_up_is_let_go(
    docker_engine: DockerEngine, world: World, eventually: Wait
) -> None:
    world.know("old-cccccc", container_name="solver")
    theirs = docker_engine.begin(**{SERVICE: "solver"})
    world.registry.request("old-cccccc", 1)
    one(docker_engine.containers, eventually)
    docker_engine.give_up(theirs)
    eventually(lambda: docker_engine.containers.list()[0].draining)
    docker_engine.containers.end(docker_engine.containers.list()[0], planned=True)
    assert docker_engine.containers.list() == []
    assert docker_engine.runs(theirs)
