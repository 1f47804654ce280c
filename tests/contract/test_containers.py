"""What the containers of a node owe their agent: run against the local ones and those of a real Docker engine."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from jqueuer.adapters.redis_store import RedisJobLedger
from jqueuer.adapters.redis_store.connection import StoreClient
from jqueuer.states import ContainerState
from jqueuer_agent.adapters.local_containers import LocalContainers
from tests.contract.engines import (
    NODE,
    DockerEngine,
    Engine,
    LocalEngine,
    Wait,
    World,
    X,
    docker_engine_on,
    one,
    one_node,
)
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


@pytest.fixture(params=["local", "docker"])
def engine(request: pytest.FixtureRequest, world: World, tmp_path: Path) -> Engine:
    if request.param == "docker":
        return request.getfixturevalue("docker_engine")  # type: ignore[no-any-return]
    local = LocalContainers(world.registry, tmp_path / "containers", NODE, world.experiments.now)
    return LocalEngine(local, world.registry)


def test_a_container_starts_and_is_idle_once_its_manager_is_ready(
    engine: Engine, world: World, eventually: Wait
) -> None:
    engine.begin()
    handle = one(engine.containers, eventually)
    assert (handle.experiment_id, handle.draining) == (X, False)
    assert world.states() == {handle.id: ContainerState.STARTING}
    engine.containers.ready(handle)
    assert world.states() == {handle.id: ContainerState.IDLE}
    assert world.registry.observed(X)[0].node == NODE


def test_a_container_that_is_given_up_drains_until_it_is_ended(engine: Engine, world: World, eventually: Wait) -> None:
    engine.begin()
    handle = one(engine.containers, eventually)
    engine.containers.ready(handle)
    engine.give_up(handle.id)
    eventually(lambda: engine.containers.list()[0].draining)
    assert world.states() == {handle.id: ContainerState.DRAINING}
    [draining] = engine.containers.list()
    engine.containers.ready(draining)
    assert world.states() == {handle.id: ContainerState.DRAINING}
    engine.containers.end(draining, planned=True)
    assert engine.containers.list() == []
    assert world.states() == {}
    assert RedisJobLedger(world.client).statistics(X).container_seconds > 0.0


def test_a_draining_container_does_not_outlive_its_agent(engine: Engine, world: World, eventually: Wait) -> None:
    engine.begin()
    handle = one(engine.containers, eventually)
    engine.give_up(handle.id)
    eventually(lambda: engine.containers.list()[0].draining)
    engine.containers.leave(engine.containers.list()[0])
    assert world.states() == {}
