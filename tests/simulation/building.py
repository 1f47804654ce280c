"""Scenarios for tests: 60 jobs of about a minute, 1..5 containers, half an hour."""

from typing import Any

from hypothesis import strategies as st

from jqueuer.simulation import Scenario


def scenario(**changes: Any) -> Scenario:
    """The usual one; keys of ``experiment`` and ``cluster`` are changed one by one, others as a whole."""
    experiment = {"deadline": "30m", "estimate": "90s", "containers": {"min": 1, "max": 5}, "policy": "deadline-paper"}
    cluster = {"nodes": 5, "slots": 2, "start_delay": "5s"}
    values: dict[str, Any] = {"name": "test", "jobs": 60, "durations": {"log-normal": {"mean": "60s", "sigma": 0.5}}}
    values |= {key: value for key, value in changes.items() if key not in ("experiment", "cluster")}
    values["experiment"] = {**experiment, **changes.get("experiment", {})}
    values["cluster"] = {**cluster, **changes.get("cluster", {})}
    return Scenario.model_validate(values)


def durations() -> st.SearchStrategy[Any]:
    """One of the forms, most of a minute."""
    return st.sampled_from(
        [
            "20s",
            {"normal": {"mean": "60s", "deviation": "20s"}},
            {"log-normal": {"mean": "60s", "sigma": 1.0}},
            {"pareto": {"alpha": 1.5, "minimum": "20s"}},
            {"bimodal": {"short": "10s", "long": "4m", "share_long": 0.1, "sigma": 0.2}},
            {"list": ["1s", "60s", "7s", "60s", "60s"]},
        ]
    )


def losses(nodes: int) -> st.SearchStrategy[list[dict[str, Any]]]:
    """Up to two nodes that go and come back."""
    loss = st.builds(
        lambda at, node, away: {"at": at, "node": node, "back": at + away},
        st.floats(1, 1500),
        st.integers(1, nodes),
        st.floats(1, 600),
    )
    return st.lists(loss, max_size=2)


@st.composite
def scenarios(draw: st.DrawFn, *, with_losses: bool = True, policies: tuple[str, ...] = ()) -> Scenario:
    """Small experiments on small clusters, with everything that can happen to them."""
    nodes, slots = draw(st.integers(1, 4)), draw(st.integers(1, 3))
    maximum = draw(st.integers(1, 8))
    chosen = policies or ("deadline-2018", "deadline-paper", "fixed")
    return scenario(
        jobs=draw(st.integers(1, 80)),
        durations=draw(durations()),
        contention=draw(st.sampled_from([{}, {1: 1.0, 4: 1.5, 8: 3.0}])),
        failures=draw(st.sampled_from([0.0, 0.0, 0.2])),
        gap=draw(st.sampled_from([0.0, 0.0, 0.5])),
        node_loss=draw(losses(nodes)) if with_losses else [],
        experiment={
            "deadline": draw(st.floats(60, 7200)),
            "containers": {"min": draw(st.integers(1, maximum)), "max": maximum},
            "policy": draw(st.sampled_from(chosen)),
            "on_failure": {"max_attempts": draw(st.integers(1, 3)), "backoff": draw(st.sampled_from([0, 20]))},
        },
        cluster={
            "nodes": nodes,
            "slots": slots,
            "start_delay": draw(st.sampled_from(["0s", "5s", {"normal": {"mean": "20s", "deviation": "10s"}}])),
            "image_pull": draw(st.sampled_from(["0s", "40s"])),
            "scale_down": draw(st.sampled_from(["drain", "kill"])),
        },
    )
