"""What is forecast of an experiment as it stands: the distribution of its finish, for the containers it has."""

from __future__ import annotations

from dataclasses import dataclass, replace

from cautoscaler import Situation
from cautoscaler.forecasting import FinishModel
from cautoscaler.wording import amount, plural
from jqueuer.controller.observation import ControllerState, Observation
from jqueuer.controller.situation import situation_of
from jqueuer.controller.starts import NOTHING_STARTED, looked
from jqueuer.states import ExperimentState


@dataclass(frozen=True, slots=True)
class Forecast:
    """When the last job ends, if the number of containers stays; moments in seconds since the epoch."""

    finish_at: float
    """As likely earlier as later: the P50."""
    p80_at: float
    p95_at: float
    probability: float | None
    """That it is before the deadline; None without one."""
    containers: int
    """The number it is for."""
    basis: str
    """What it rests on, in words."""


def forecast_of(observation: Observation, *, start_seconds: float | None = None) -> Forecast | None:
    """The forecast for the containers that are requested, whatever policy requests them.

    None where jobs are not being run: nothing is known about how long a pause or the post command will take.
    ``start_seconds`` is how long containers take to start, where that was measured.
    """
    record, now = observation.record, observation.now
    if record is None or record.state is not ExperimentState.RUNNING or observation.counts.left <= 0:
        return None
    starts = replace(looked(NOTHING_STARTED, observation.service, now), mean_seconds=start_seconds)
    situation = situation_of(ControllerState(starts=starts), observation, record)
    containers = max(1, situation.requested or situation.minimum)
    finish = FinishModel(situation).finish(containers)
    p50, p80, p95 = (now + finish.quantile(probability) for probability in (0.5, 0.8, 0.95))
    left = None if record.deadline_at is None else record.deadline_at - now
    return Forecast(
        finish_at=p50,
        p80_at=p80,
        p95_at=p95,
        probability=None if left is None else finish.probability(left),
        containers=containers,
        basis=f"{plural(situation.jobs_left, 'job')} left on {plural(containers, 'container')}, {grounds(situation)}",
    )


def grounds(situation: Situation) -> str:
    """Where what is known of the jobs' durations comes from."""
    measured, history = situation.measured.durations.count, situation.history.count
    if not measured and not history:
        return f"by the estimate of {amount(situation.estimate_seconds)} s a task: no job has been measured"
    if measured >= history:
        return f"by {plural(measured, 'measured job')}"
    earlier = f"{plural(history, 'job')} of earlier experiments of its kind"
    return f"by {plural(measured, 'measured job')} and {earlier}" if measured else f"by {earlier}"
