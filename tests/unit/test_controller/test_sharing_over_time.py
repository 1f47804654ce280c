"""Experiments that arrive and end on a cluster that is too small for all of them."""

from dataclasses import dataclass, field
from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st
from toy_cluster import Cluster, Tenant

from jqueuer.states import ExperimentState

FOUR = {"containers": {"min": 1, "max": 4}}


def told(tenant: Tenant, *actions: str) -> list[tuple[str, int | None, str]]:
    return [
        (entry.action, entry.containers, entry.reason.rsplit("; ", 1)[-1])
        for entry in tenant.journal
        if not actions or entry.action in actions
    ]


def turns(requests: list[int]) -> int:
    """How often the number went up after it had gone down, or down after it had gone up."""
    directions = [after > before for before, after in pairwise(requests) if after != before]
    return sum(one is not other for one, other in pairwise(directions))


def test_alone_it_has_all_it_wants_at_once() -> None:
    cluster = Cluster({"n1": 2, "n2": 2})
    tenant = cluster.arrive("only", 40, **FOUR)
    cluster.tick(3)
    assert tenant.requests == [4]
    assert [entry.action for entry in tenant.journal] == ["create"]


def test_the_earlier_deadline_takes_all_but_the_others_minimum_and_gives_it_back() -> None:
    cluster = Cluster({"n1": 2, "n2": 2})
    late = cluster.arrive("late", 60, deadline_at=9000.0, **FOUR)
    cluster.tick(10)
    early = cluster.arrive("early", 20, deadline_at=8400.0, **FOUR)
    cluster.tick(10)
    assert cluster.requested() == {"late": 1, "early": 3}
    while not early.settled:
        cluster.tick()
    cluster.tick(5)
    assert cluster.requested() == {"late": 4}
    assert late.requests == [4, 1, 2, 4]
    assert early.requests == [0, 3, 2]
    assert told(late, "give-way", "scale-up") == [
        ("give-way", 1, "1 of 4 wanted fit: early (its deadline is 10m earlier) goes first"),
        ("scale-up", 2, "2 of 4 wanted fit: early (its deadline is 10m earlier) goes first"),
        ("scale-up", 4, "there is room for all 4 wanted"),
    ]
    minimum = "late (its minimum of 1) goes first"
    assert told(early, "create", "limited", "scale-up") == [
        ("create", 0, f"0 of 4 wanted fit now, 3 more as others leave or have found their places: {minimum}"),
        ("scale-up", 3, f"3 of 4 wanted fit: {minimum}"),
    ]


def test_priority_goes_before_the_deadline() -> None:
    cluster = Cluster({"n1": 4})
    cluster.arrive("urgent", 200, deadline_at=1400.0, **FOUR)
    cluster.arrive("important", 200, priority=5, **FOUR)
    cluster.tick(20)
    assert cluster.requested() == {"urgent": 1, "important": 3}


def test_whoever_finds_no_room_waits_says_for_whom_and_starts_when_there_is_some() -> None:
    cluster = Cluster({"n1": 2})
    first = cluster.arrive("first", 8, containers={"min": 2, "max": 2})
    cluster.tick(2)
    second = cluster.arrive("second", 8, containers={"min": 2, "max": 2})
    cluster.tick(6)
    assert second.requested == 0
    assert told(second) == [("create", 0, "0 of 2 wanted fit: first (received earlier) goes first")]
    while not second.settled:
        cluster.tick()
    assert first.record.state is second.record.state is ExperimentState.ACCOMPLISHED
    assert second.requests == [0, 2]
    assert told(second, "scale-up") == [("scale-up", 2, "there is room for all 2 wanted")]


def test_a_large_container_gets_its_place_though_small_ones_keep_coming() -> None:
    """Room that is held for it is not taken by who gave it up."""
    cluster = Cluster({"n1": 4, "n2": 4})
    small = cluster.arrive("small", 300, containers={"min": 1, "max": 8})
    cluster.tick(7)
    large = cluster.arrive("large", 4, cores=4.0, priority=1, containers={"min": 1, "max": 1}, seconds=10.0)
    cluster.tick(20)
    assert large.requested == 1
    assert [one.node for one in large.containers]
    assert cluster.requested()["small"] == 4
    assert turns(small.requests) == 1
    cluster.tick(60)
    assert large.settled
    assert cluster.requested() == {"small": 8}
    assert turns(small.requests) == 1


def test_three_share_by_rank_as_they_come_and_go() -> None:
    cluster = Cluster({"n1": 3, "n2": 3})
    wants = {"containers": {"min": 1, "max": 6}}
    tenants = [cluster.arrive("a", 400, **wants)]
    cluster.tick(8)
    assert cluster.requested() == {"a": 6}
    tenants.append(cluster.arrive("b", 100, deadline_at=3000.0, **wants))
    cluster.tick(8)
    assert cluster.requested() == {"a": 1, "b": 5}
    tenants.append(cluster.arrive("c", 30, deadline_at=2000.0, **wants))
    cluster.tick(8)
    assert cluster.requested() == {"a": 1, "b": 1, "c": 4}
    for _ in range(600):
        cluster.tick()
    assert all(tenant.record.state is ExperimentState.ACCOMPLISHED for tenant in tenants)
    assert [tenant.requests for tenant in tenants] == [[6, 1, 2, 3, 6, 4, 2], [0, 5, 1, 3, 5, 4, 3], [0, 4, 2]]


arrivals = st.lists(
    st.tuples(
        st.integers(0, 25), st.integers(0, 2), st.integers(1, 6), st.integers(1, 40), st.sampled_from((1.0, 5.0, 9.0))
    ),
    min_size=1,
    max_size=4,
)
CALM = 20
"""So many ticks after the last change every container that was to go is gone."""


@settings(deadline=None, max_examples=60)
@given(arrivals, st.sampled_from(({"n1": 3}, {"n1": 2, "n2": 2}, {"n1": 3, "n2": 1, "n3": 2})))
def test_no_number_goes_back_and_forth_and_no_room_is_left_unused(
    plan: list[tuple[int, int, int, int, float]], nodes: dict[str, float]
) -> None:
    """Containers of one size; between two changes of what is wanted every number goes in one direction only."""
    cluster, watch = Cluster(dict(nodes)), Watch()
    for number, (wait, minimum, maximum, jobs, seconds) in enumerate(plan):
        cluster.arrive(f"e{number}", jobs, seconds=seconds, containers={"min": min(minimum, maximum), "max": maximum})
        for _ in range(wait):
            cluster.tick()
            watch.look(cluster)
    for _ in range(1500):
        cluster.tick()
        watch.look(cluster)
        if all(tenant.settled for tenant in cluster.tenants.values()):
            break
    assert all(tenant.record.state is ExperimentState.ACCOMPLISHED for tenant in cluster.tenants.values())


@dataclass
class Watch:
    """What was wanted and requested, and in which direction each number went since the last change of the former."""

    wanted: dict[str, int] = field(default_factory=dict)
    requested: dict[str, int] = field(default_factory=dict)
    directions: dict[str, bool] = field(default_factory=dict)
    calm: int = 0

    def look(self, cluster: Cluster) -> None:
        wanted = {name: one.demand.wanted for name, one in cluster.tenants.items() if one.demand and not one.settled}
        requested = cluster.requested()
        self.calm += 1
        if wanted != self.wanted:
            self.wanted, self.directions, self.calm = wanted, {}, 0
        for name, number in requested.items():
            before = self.requested.get(name, number)
            if number != before and self.calm:  # the shares of this tick know nothing of the change yet
                assert self.directions.setdefault(name, number > before) is (number > before), f"{name} turned"
        self.requested = requested
        if self.calm >= CALM and any(wanted[name] > requested.get(name, 0) for name in wanted):
            assert not any(cluster.free(name) for name in cluster.nodes)
