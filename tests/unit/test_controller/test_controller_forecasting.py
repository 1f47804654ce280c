"""What is forecast of an experiment as it stands, under any policy."""

from __future__ import annotations

import pytest
from controller_looks import START, look, record, service
from toy_world import World

from cautoscaler import Durations, Measured
from jqueuer.controller import forecast_of
from jqueuer.records import Counts
from jqueuer.states import ExperimentState

SEEN = {
    "counts": Counts(queued=8, running=2, accomplished=40),
    "measured": Measured(durations=Durations.of([20.0] * 40)),
    "service": service(2, busy=2),
}


def test_jobs_of_a_known_length_end_when_the_containers_are_through() -> None:
    """Ten jobs of 20 s on two containers: the running two have just begun."""
    found = forecast_of(look(**SEEN))
    assert found is not None
    assert found.finish_at == pytest.approx(START + 100.0, abs=10.0)
    assert found.finish_at <= found.p80_at <= found.p95_at
    assert (found.containers, found.basis) == (2, "10 jobs left on 2 containers, by 40 measured jobs")
    assert found.probability is not None
    assert found.probability > 0.95, "the deadline is 300 s after the receipt"


def test_requested_containers_that_are_not_up_come_after_their_start() -> None:
    soon, late = (
        forecast_of(look(**{**SEEN, "service": service(4, busy=2)}), start_seconds=seconds) for seconds in (1.0, 90.0)
    )
    assert soon is not None
    assert late is not None
    assert soon.containers == late.containers == 4
    assert soon.finish_at < late.finish_at


def test_before_anything_is_requested_it_is_for_the_minimum() -> None:
    wanted = {"min": 3, "max": 10}
    found = forecast_of(look(record=record(containers=wanted)))
    assert found is not None
    assert found.containers == 3
    assert found.basis == "20 jobs left on 3 containers, by the estimate of 60 s a task: no job has been measured"


def test_earlier_experiments_count_until_there_are_as_many_jobs_of_its_own() -> None:
    history = Durations.of([20.0] * 41)
    found = forecast_of(look(**SEEN, history=history))
    assert found is not None
    assert found.basis.endswith("by 40 measured jobs and 41 jobs of earlier experiments of its kind")


def test_without_a_deadline_there_is_no_probability() -> None:
    found = forecast_of(look(**SEEN, record=record(deadline_at=None)))
    assert found is not None
    assert found.probability is None


@pytest.mark.parametrize("state", [state for state in ExperimentState if state is not ExperimentState.RUNNING])
def test_nothing_is_forecast_while_no_jobs_are_run(state: ExperimentState) -> None:
    assert forecast_of(look(**SEEN, record=record(state))) is None


def test_nothing_is_forecast_when_no_job_is_left() -> None:
    assert forecast_of(look(**{**SEEN, "counts": Counts(accomplished=20)})) is None


def test_the_last_decision_says_how_long_containers_took_to_start() -> None:
    """The forecasts of the next experiment of its kind rest on it."""
    world = World.of(30, estimate=4)
    while not world.settled:
        world.tick()
    last = next(entry for entry in world.journal if entry.action == "finish")
    assert isinstance(last.inputs["start_seconds"], float)
