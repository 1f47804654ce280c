"""How an experiment stood from time to time: the points that its history is drawn of."""

from __future__ import annotations

import time
from typing import Final

import structlog

from jqueuer.controller import ControllerState, Forecast, Observation, forecast_of
from jqueuer.ports import ExperimentStore
from jqueuer.records import ExperimentRecord, HistoryPoint
from jqueuer.states import ContainerState, ExperimentState

FORECAST_SECONDS: Final = 10.0
"""A forecast costs some milliseconds and is drawn over hours: points in between repeat the last one."""
_AFTER_FAILURE_SECONDS: Final = 60.0

log = structlog.get_logger()


class Recorder:
    """Keeps points of one experiment, at most one per interval; used by one thread at a time, and never in its way."""

    def __init__(self, experiments: ExperimentStore, experiment_id: str) -> None:
        self._experiments = experiments
        self._id = experiment_id
        self._kept: tuple[ExperimentState, float | None] | None = None
        self._due_at = 0.0
        self._forecast: Forecast | None = None
        self._forecast_due_at = 0.0

    def saw(self, observation: Observation, state: ControllerState, *, last: bool) -> None:
        """Keep a point of this look if one is due; the ``last``, and one of each new state or deadline, are anyway."""
        record = observation.record
        if record is None or observation.engine_problem:  # then nobody knows how many containers there are
            return
        kept = (record.state, record.deadline_at)
        at_once = last or kept != self._kept
        if not at_once and time.monotonic() < self._due_at:
            return
        try:
            wait_seconds = self._keep(observation, record, state, at_once=at_once)
        except Exception:
            log.exception("no point of the history could be kept; going on without", experiment=self._id)
            wait_seconds = _AFTER_FAILURE_SECONDS
        self._kept = kept
        self._due_at = time.monotonic() + wait_seconds

    def _keep(
        self, observation: Observation, record: ExperimentRecord, state: ControllerState, *, at_once: bool
    ) -> float:
        if at_once:
            self._forecast_due_at = 0.0
        forecast = self.forecast_now(observation, state)
        wanted = observation.requested if state.wanted is None else state.wanted
        point = HistoryPoint(
            at=round(observation.now, 3),
            **observation.counts.model_dump(),
            wanted=wanted if record.state is ExperimentState.RUNNING else None,
            requested=observation.requested,
            starting=observation.containers(ContainerState.STARTING),
            idle=observation.containers(ContainerState.IDLE),
            busy=observation.containers(ContainerState.BUSY),
            draining=observation.containers(ContainerState.DRAINING),
            p50_at=None if forecast is None else round(forecast.finish_at, 3),
            p80_at=None if forecast is None else round(forecast.p80_at, 3),
            p95_at=None if forecast is None else round(forecast.p95_at, 3),
            probability=None if forecast is None or forecast.probability is None else round(forecast.probability, 4),
        )
        return self._experiments.record_point(self._id, point, at_once=at_once)

    def forecast_now(self, observation: Observation, state: ControllerState) -> Forecast | None:
        """The forecast, the last one while it is fresh enough; None where jobs are not being run."""
        record = observation.record
        if record is None or record.state is not ExperimentState.RUNNING or observation.counts.left == 0:
            self._forecast_due_at = 0.0
            return None
        if time.monotonic() >= self._forecast_due_at:
            self._forecast = forecast_of(observation, start_seconds=state.starts.mean_seconds)
            self._forecast_due_at = time.monotonic() + FORECAST_SECONDS
        return self._forecast
