"""What is particular to containers without an engine: they die with their agent."""

from __future__ import annotations

from pathlib import Path

import pytest

from jqueuer.adapters.redis_store import RedisJobLedger
from jqueuer.adapters.redis_store.connection import StoreClient
from jqueuer_agent.adapters.local_containers import LocalContainers
from tests.contract.engines import NODE, World, X


@pytest.fixture
def world(client: StoreClient) -> World:
    return World(client)


def agent_of(world: World, tmp_path: Path, node: str = NODE) -> LocalContainers:
    return LocalContainers(world.registry, tmp_path / node, node, world.experiments.now)


def paid_seconds(world: World) -> float:
    return RedisJobLedger(world.client).statistics(X).container_seconds


def test_what_a_dead_agent_left_is_paid_for_until_its_last_sign_of_life(world: World, tmp_path: Path) -> None:
    world.registry.request(X, 2)
    left = [handle.id for handle in agent_of(world, tmp_path).list()]
    began = [status.started_at for status in world.registry.observed(X)]
    lived_until = max(began) + 60.0
    assert sorted(agent_of(world, tmp_path).bury([X], lived_until)) == [(X, name) for name in sorted(left)]
    assert world.registry.observed(X) == []
    assert paid_seconds(world) == pytest.approx(sum(lived_until - one for one in began), abs=1e-3)


def test_what_began_after_the_last_sign_of_life_costs_nothing(world: World, tmp_path: Path) -> None:
    world.registry.request(X, 1)
    agent_of(world, tmp_path).list()
    agent_of(world, tmp_path).bury([X], 0.0)
    assert (world.registry.observed(X), paid_seconds(world)) == ([], 0.0)


def test_an_agent_buries_nothing_of_another_node(world: World, tmp_path: Path) -> None:
    world.registry.request(X, 1)
    [handle] = agent_of(world, tmp_path).list()
    assert agent_of(world, tmp_path, node="another").bury([X], 0.0) == []
    assert [status.id for status in world.registry.observed(X)] == [handle.id]
