"""Builders of situations, and the strategies of the property tests."""

from typing import Any

from hypothesis import strategies as st

from cautoscaler import Advice, ContainerCounts, Parameters, Situation


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


@st.composite
def situations(draw: st.DrawFn, **fixed: Any) -> Situation:
    """Any situation at all, absurd ones included."""
    minimum = draw(st.integers(0, 50))
    accomplished, left = draw(st.integers(0, 10_000)), draw(st.integers(0, 1_000_000))
    values: dict[str, Any] = {
        "now": draw(st.floats(-1e9, 1e9)),
        "started_at": draw(st.floats(-1e9, 1e9)),
        "deadline_at": draw(st.none() | st.floats(-1e9, 1e9)),
        "minimum": minimum,
        "maximum": draw(st.integers(max(1, minimum), 10_000)),
        "jobs_total": accomplished + left,
        "jobs_left": left,
        "jobs_accomplished": accomplished,
        "tasks_per_job": draw(st.integers(1, 1000)),
        "estimate_seconds": draw(estimates),
        "mean_task_seconds": draw(st.none() | durations),
        "requested": draw(counts),
        "containers": ContainerCounts(draw(counts), draw(counts), draw(counts), draw(counts)),
        "margin_seconds": draw(durations),
        "parameters": Parameters(containers=draw(st.none() | counts)),
        "advice": draw(st.none() | st.builds(Advice, containers=counts) | st.just(Advice(error="it was away"))),
        "fallback": draw(st.sampled_from(("deadline-paper", "deadline-2018", "fixed", "rest"))),
        **fixed,
    }
    return Situation(**values)
