"""The forecast of each experiment that is looked at, worked out at most once a second however many look."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from cautoscaler import Durations
from jqueuer.controller import Forecast, Observation, forecast_of
from jqueuer.records import ExperimentRecord, JournalEntry, ServiceStatus, Standing
from jqueuer.states import ExperimentState
from jqueuer_manager.history import history_of, start_seconds_in
from jqueuer_manager.services import Services

CURRENT_SECONDS: Final = 1.0
"""So long a forecast stands, unless deadline or containers are changed."""
_MOST_KNOWN: Final = 500


@dataclass(frozen=True, slots=True)
class _Known:
    """An experiment's forecast, what it was made for, and what does not change."""

    made_at: float
    made_for: tuple[float | None, int, int, bool]
    history: Durations
    forecast: Forecast | None


class Forecasts:
    """Makes and keeps them; safe among threads, which at worst make one twice."""

    def __init__(self, services: Services, *, current_seconds: float = CURRENT_SECONDS) -> None:
        self._services = services
        self._current_seconds = current_seconds
        self._known: dict[str, _Known] = {}

    def of(
        self,
        record: ExperimentRecord,
        standing: Standing,
        service: ServiceStatus | None,
        decisions: Iterable[JournalEntry],
        now: float,
    ) -> Forecast | None:
        """The forecast of an experiment as it stands; None where its jobs are not being run."""
        if record.state is not ExperimentState.RUNNING or standing.counts.left == 0:
            self._known.pop(record.id, None)
            return None
        requested = 0 if service is None else service.requested
        made_for = (record.deadline_at, requested, record.description.containers.min, standing.counts.accomplished > 0)
        known = self._known.get(record.id)
        if known is not None and known.made_for == made_for and 0 <= now - known.made_at < self._current_seconds:
            return known.forecast
        services = self._services
        history = known.history if known else history_of(services.experiments, services.ledger, record.description)
        observation = Observation(
            now=now,
            record=record,
            counts=standing.counts,
            statistics=standing.statistics,
            measured=standing.measured,
            history=history,
            service=service,
        )
        forecast = forecast_of(observation, start_seconds=start_seconds_in(decisions))
        while len(self._known) >= _MOST_KNOWN:
            self._known.pop(next(iter(self._known), ""), None)
        self._known[record.id] = _Known(now, made_for, history, forecast)
        return forecast
