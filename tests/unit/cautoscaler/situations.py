"""Builders of situations, and the strategies of the property tests."""

from typing import Any

from hypothesis import strategies as st

from cautoscaler import (
    Advice,
    Concurrency,
    ContainerCounts,
    Durations,
    Measured,
    OnConflict,
    Parameters,
    Situation,
    Window,
    names,
)


def situation(**changes: Any) -> Situation:
    """The paper's experiment at its receipt: 500 jobs, 90 minutes, an estimate of two minutes, 1..10 containers."""
    values: dict[str, Any] = {
        "now": 0.0,
        "started_at": 0.0,
        "deadline_at": 5400.0,
        "minimum": 1,
        "maximum": 10,
        "jobs_total": 500,
        "jobs_left": 500,
        "estimate_seconds": 120.0,
        **changes,
    }
    return Situation(**values)


def running(requested: int, **changes: Any) -> Situation:
    """The same with so many containers requested and busy."""
    return situation(requested=requested, containers=ContainerCounts(busy=requested), **changes)


durations = st.floats(min_value=0.0, max_value=1e9)
estimates = st.floats(min_value=1e-6, max_value=1e9)
counts = st.integers(min_value=0, max_value=10_000)
moments = st.floats(-1e9, 1e9)
few_durations = st.lists(durations, max_size=5)
seconds_of_the_day = st.integers(0, 86_400)
histograms = few_durations.map(Durations.of)
measurements = st.builds(
    Measured,
    durations=histograms,
    concurrency=st.lists(st.builds(Concurrency, st.integers(1, 50), st.integers(1, 50), durations), max_size=3).map(
        lambda entries: tuple(sorted(entries, key=lambda entry: entry.busy))
    ),
    unsuccessful=st.integers(0, 100),
    unsuccessful_seconds=durations,
    start_seconds=st.none() | durations,
)
parameters = st.builds(
    Parameters,
    containers=st.none() | counts,
    confidence=st.floats(0.5, 0.999),
    on_conflict=st.sampled_from(OnConflict),
    budget_container_seconds=st.none() | durations,
    price_per_container_hour=st.none() | st.floats(1e-9, 1e9),
    jobs_per_container=st.floats(1e-9, 1e9),
    target_seconds=st.none() | durations,
    windows=st.lists(st.builds(Window, seconds_of_the_day, seconds_of_the_day, counts), max_size=3).map(tuple),
    utc_offset_seconds=st.integers(-86_400, 86_400),
    up_cooldown_seconds=st.none() | durations,
    down_cooldown_seconds=st.none() | durations,
)


SIMPLE = tuple(name for name in names() if name != "deadline-forecast")
"""Policies that calculate, rather than simulate, so that the size of an experiment does not matter."""


@st.composite
def situations(draw: st.DrawFn, *, most: int = 10_000, jobs: int = 1_000_000, **fixed: Any) -> Situation:
    """Any situation at all, absurd ones included; at most so many containers and jobs."""
    minimum = draw(st.integers(0, min(50, most)))
    accomplished, left = draw(st.integers(0, 10_000)), draw(st.integers(0, jobs))
    values: dict[str, Any] = {
        "now": draw(moments),
        "started_at": draw(moments),
        "deadline_at": draw(st.none() | moments),
        "minimum": minimum,
        "maximum": draw(st.integers(max(1, minimum), most)),
        "jobs_total": accomplished + left,
        "jobs_left": left,
        "jobs_accomplished": accomplished,
        "tasks_per_job": draw(st.integers(1, 1000)),
        "estimate_seconds": draw(estimates),
        "mean_task_seconds": draw(st.none() | durations),
        "requested": draw(counts),
        "containers": ContainerCounts(draw(counts), draw(counts), draw(counts), draw(counts)),
        "measured": draw(measurements),
        "history": draw(histograms),
        "running_seconds": tuple(draw(few_durations)),
        "starting_seconds": tuple(draw(few_durations)),
        "container_seconds": draw(durations),
        "changed_at": draw(st.none() | moments),
        "margin_seconds": draw(durations),
        "parameters": draw(parameters),
        "advice": draw(st.none() | st.builds(Advice, containers=counts) | st.just(Advice(error="it was away"))),
        "fallback": draw(st.sampled_from(SIMPLE)),
        **fixed,
    }
    return Situation(**values)


@st.composite
def cases(draw: st.DrawFn, **fixed: Any) -> tuple[str, Situation]:
    """Any policy in any situation; those that simulate in small ones."""
    policy = draw(st.sampled_from(names()))
    size = {} if policy in SIMPLE else {"most": 12, "jobs": 60}
    return policy, draw(situations(**size, **fixed))
