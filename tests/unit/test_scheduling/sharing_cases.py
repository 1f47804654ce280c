"""Clusters and demands: builders, strategies, and what holds however they are shared."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from hypothesis import strategies as st

from jqueuer.scheduling import Demand, Node, Share, parse_constraint, share

GIB = 2**30


def node(name: str, cores: float = 4, gib: int = 8, **changes: Any) -> Node:
    return Node(name=name, cpu_cores=cores, memory_bytes=gib * GIB, **changes)


def demand(name: str, **changes: Any) -> Demand:
    """One core a container, wants 4, received at 0."""
    values: dict[str, Any] = {"created_at": 0.0, "minimum": 1, "wanted": 4, "requested": 0, "cpu_cores": 1.0, **changes}
    placement = values.pop("placement", ())
    return Demand(experiment_id=name, constraints=tuple(map(parse_constraint, placement)), **values)


def got(shares: Mapping[str, Share]) -> dict[str, int]:
    return {name: share.containers for name, share in shares.items()}


cores = st.integers(0, 8).map(lambda halves: halves / 2)
nodes = st.lists(
    st.builds(
        lambda cpu, gib, zone, foreign: Node(
            name="",
            cpu_cores=cpu,
            memory_bytes=gib * GIB,
            foreign_cpu_cores=foreign,
            attributes={"node.labels.z": zone},
        ),
        st.integers(1, 8).map(float),
        st.integers(1, 8),
        st.sampled_from("ab"),
        st.sampled_from((0.0, 0.5, 1.0)),
    ),
    max_size=4,
).map(lambda found: [_named(one, f"n{index}") for index, one in enumerate(found)])


def _named(one: Node, name: str) -> Node:
    return Node(
        name=name,
        cpu_cores=one.cpu_cores,
        memory_bytes=one.memory_bytes,
        foreign_cpu_cores=one.foreign_cpu_cores,
        attributes=one.attributes,
    )


@st.composite
def demands(draw: st.DrawFn, on: Sequence[str] = (), most: int = 4) -> list[Demand]:
    """Up to so many experiments, with containers on these nodes."""
    found = []
    for index in range(draw(st.integers(0, most))):
        held = {name: draw(st.integers(0, 2)) for name in on}
        found.append(
            demand(
                f"e{index}",
                priority=draw(st.integers(0, 1)),
                deadline_at=draw(st.none() | st.integers(0, 3).map(float)),
                created_at=float(draw(st.integers(0, 3))),
                minimum=draw(st.integers(0, 3)),
                wanted=draw(st.integers(0, 6)),
                requested=sum(held.values()) + draw(st.integers(0, 1)) if on else 0,
                cpu_cores=draw(cores),
                memory_bytes=draw(st.integers(0, 3)) * GIB,
                placement=draw(st.sampled_from(((), ("node.labels.z == a",), ("node.labels.z != a",)))),
                in_place=held,
                draining={name: draw(st.integers(0, 1)) for name in on},
            )
        )
    return found


@st.composite
def busy_clusters(draw: st.DrawFn) -> tuple[list[Node], list[Demand]]:
    """A cluster where containers stand and drain already; sometimes more than there is room for."""
    there = draw(nodes)
    return there, draw(demands(on=[one.name for one in there]))


def fits(one: Demand, cpu_cores: float, memory_bytes: int) -> bool:
    return one.cpu_cores <= cpu_cores and one.memory_bytes <= memory_bytes


def left(on: Node, placed: Iterable[tuple[Demand, int]]) -> tuple[float, int]:
    """Cores and bytes that are free beside so many containers of these."""
    placed = list(placed)
    return (
        on.cpu_cores - on.foreign_cpu_cores - sum(one.cpu_cores * count for one, count in placed),
        on.memory_bytes - on.foreign_memory_bytes - sum(one.memory_bytes * count for one, count in placed),
    )


def rank(one: Demand) -> tuple[Any, ...]:
    deadline = float("inf") if one.deadline_at is None else one.deadline_at
    return -one.priority, deadline, one.created_at, one.experiment_id


def settled(there: Sequence[Node], wishes: Sequence[Demand]) -> tuple[list[Demand], dict[str, Share]]:
    """What follows once everybody has started what it may, and again, until nothing changes."""
    found = list(wishes)
    for _ in range(20):
        shares = share(there, found)
        after = [
            replace(one, in_place=shares[one.experiment_id].placed, requested=shares[one.experiment_id].containers)
            for one in found
        ]
        if after == found:
            return found, shares
        found = after
    raise AssertionError(f"it never comes to rest: {found}")
