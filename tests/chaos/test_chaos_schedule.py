"""What a seed makes of a number of faults."""

from __future__ import annotations

from collections import Counter

from tests.chaos.schedule import SEVERAL, Kind, schedule
from tests.chaos.swarm_world import SwarmWorld

OFTEN, SELDOM = Kind("often", 9), Kind("seldom", 1)


def test_a_seed_stands_for_one_schedule() -> None:
    assert schedule(7, 60, SwarmWorld.kinds) == schedule(7, 60, SwarmWorld.kinds)
    assert schedule(7, 60, SwarmWorld.kinds) != schedule(8, 60, SwarmWorld.kinds)


def test_of_sixty_faults_on_a_swarm_every_kind_comes_several_times() -> None:
    for seed in range(20):
        counts = Counter(fault.kind for fault in schedule(seed, 60, SwarmWorld.kinds))
        assert sum(counts.values()) == 60
        assert min(counts[kind] for kind in SwarmWorld.kinds) >= SEVERAL


def test_kinds_come_by_their_weights() -> None:
    counts = Counter(fault.kind for fault in schedule(1, 1000, [OFTEN, SELDOM]))
    assert 850 < counts[OFTEN] < 950


def test_every_target_is_hit_in_the_long_run_and_none_beyond_them() -> None:
    hit = {fault.choose(["a", "b", "c"]) for fault in schedule(3, 100, [OFTEN])}
    assert hit == {"a", "b", "c"}
