"""What Prometheus sees of the manager, read from the store at each scrape. No job is ever a label."""

from __future__ import annotations

import contextlib
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final

from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from jqueuer import __version__
from jqueuer.controller import Forecast
from jqueuer.errors import EngineUnavailableError, NotFoundError, StoreUnavailableError
from jqueuer.records import Activity, Counts, ExperimentRecord, ServiceStatus, Standing, Statistics
from jqueuer.states import ContainerState, ExperimentState, JobState
from jqueuer_manager.api import metric_sheet as m
from jqueuer_manager.api.forecasts import Forecasts
from jqueuer_manager.api.metric_sheet import Sheet
from jqueuer_manager.api.views import wanted_of
from jqueuer_manager.broker_watch import BrokerWatch
from jqueuer_manager.services import Services

RECENT_SECONDS: Final = 3600.0
"""So long an experiment stays in the metrics after its end, for its last values to be scraped."""

_FORECAST_SECONDS: Final = 15.0
"""A picture of hours needs no fresher forecast, and each costs the manager some milliseconds."""
_MAX_RECENT: Final = 50
_DECISIONS_LOOKED_AT: Final = 50
_UNSAFE: Final = re.compile(r"[^A-Za-z0-9_-]")
"""Agents cannot send it in a name, and a node is to have one name in all metrics."""
_TERMINAL: Final = tuple(state for state in ExperimentState if state.terminal)


class ManagerCollector(Collector):
    """The manager itself; whether its store and its broker answer; the experiments that run or ended lately."""

    def __init__(
        self,
        services: Services,
        *,
        refused_logins: Callable[[], int],
        open_requests: Callable[[], Mapping[str, int]],
    ) -> None:
        self._services = services
        self._refused_logins = refused_logins
        self._open_requests = open_requests
        self._broker = BrokerWatch(services.queue)
        self._forecasts = Forecasts(services, current_seconds=_FORECAST_SECONDS)

    def collect(self) -> Iterable[Metric]:
        """The families; what only the store knows is left out where it is away."""
        sheet, known = Sheet(), Sheet()
        sheet.put(m.BUILD, 1, __version__)
        sheet.put(m.REFUSED_LOGINS, self._refused_logins())
        for kind, count in self._open_requests().items():
            sheet.put(m.OPEN_REQUESTS, count, kind)
        active: set[str] = set()
        try:
            active = set(self._services.experiments.active())
            self._put_experiments(known, active)
            known.put(m.STORE_MEMORY, self._services.experiments.memory_bytes())
            outcomes = self._services.outbox.outcomes()
            for outcome in ("delivered", "failed", "given-up"):
                known.put(m.WEBHOOKS, outcomes.get(outcome, 0), outcome)
            sheet.put(m.STORE_UP, 1)
        except StoreUnavailableError:
            known = Sheet()
            sheet.put(m.STORE_UP, 0)
        lengths = self._broker.lengths(sorted(active))
        sheet.put(m.BROKER_UP, lengths is not None)
        for experiment_id, length in (lengths or {}).items():
            if experiment_id in active:
                known.put(m.QUEUE_MESSAGES, length, experiment_id)
        return [*sheet.families(), *known.families()]

    def _put_experiments(self, sheet: Sheet, active: set[str]) -> None:
        store, ledger = self._services.experiments, self._services.ledger
        experiments = store.count_by_state()
        for state in ExperimentState:
            if state is not ExperimentState.RECEIVING:
                sheet.put(m.EXPERIMENTS, experiments.get(state, 0), state.value)
        on_nodes: Counter[tuple[str, ContainerState]] = Counter()
        for record in self._records(active):
            standing = ledger.standing(record.id)
            _put_jobs(sheet, record, standing.counts, standing.statistics, ledger.activity(record.id))
            wanted, status, forecast = self._containers(record, standing, record.id in active)
            _put_containers(sheet, record.id, wanted, status)
            _put_forecast(sheet, record.id, forecast)
            on_nodes.update((_UNSAFE.sub("_", one.node), one.state) for one in (status.containers if status else ()))
        for node in sorted({node for node, _ in on_nodes}):
            for container_state in ContainerState:
                sheet.put(m.NODE_CONTAINERS, on_nodes[node, container_state], node, container_state.value)

    def _containers(
        self, record: ExperimentRecord, standing: Standing, active: bool
    ) -> tuple[int | None, ServiceStatus | None, Forecast | None]:
        """How many are wanted, what the orchestrator says, what is forecast; None where there is nothing to say."""
        nothing = ServiceStatus(requested=0)
        if not active:
            return 0, nothing, None
        store = self._services.experiments
        decisions = store.decisions(record.id, limit=_DECISIONS_LOOKED_AT)
        wanted = wanted_of(decisions)
        try:
            status = self._services.orchestrator.status(record.id)
        except EngineUnavailableError:
            return wanted, None, None
        return wanted, status or nothing, self._forecasts.of(record, standing, status, decisions, store.now())

    def _records(self, active: set[str]) -> Iterator[ExperimentRecord]:
        store = self._services.experiments
        for experiment_id in sorted(active):
            with contextlib.suppress(NotFoundError):  # deleted meanwhile
                yield store.get(experiment_id)
        since = store.now() - RECENT_SECONDS
        ended, _ = store.page(states=_TERMINAL, limit=_MAX_RECENT)
        yield from (one for one in ended if one.id not in active and (one.finished_at or 0.0) > since)


def _put_jobs(sheet: Sheet, record: ExperimentRecord, counts: Counts, sums: Statistics, activity: Activity) -> None:
    for state in JobState:
        sheet.put(m.JOBS, getattr(counts, state.value), record.id, state.value)
    moments = (
        (m.CREATED, record.created_at),
        (m.DEADLINE, record.deadline_at),
        (m.LAST_CLAIM, activity.claimed_at),
        (m.LAST_OUTCOME, activity.ended_at),
    )
    for metric, moment in moments:
        if moment is not None:
            sheet.put(metric, moment, record.id)
    sheet.put_summary(m.TASKS, sums.tasks, sums.task_seconds, record.id)
    sheet.put(m.JOB_SECONDS, sums.job_seconds, record.id)
    sheet.put(m.ATTEMPTS, sums.attempts, record.id)
    sheet.put(m.ATTEMPTS_LOST, sums.killed, record.id)
    sheet.put(m.CONTAINER_SECONDS, sums.container_seconds, record.id)
    sheet.put(m.SCALINGS, sums.scale_ups, record.id, "up")
    sheet.put(m.SCALINGS, sums.scale_downs, record.id, "down")


def _put_containers(sheet: Sheet, experiment_id: str, wanted: int | None, status: ServiceStatus | None) -> None:
    """Wanted, requested and observed are three things."""
    if wanted is not None:
        sheet.put(m.WANTED, wanted, experiment_id)
    if status is None:
        return
    sheet.put(m.REQUESTED, status.requested, experiment_id)
    for state in ContainerState:
        sheet.put(m.CONTAINERS, status.count(state), experiment_id, state.value)
    sheet.put(m.UNPLACED, status.unplaced, experiment_id)


def _put_forecast(sheet: Sheet, experiment_id: str, forecast: Forecast | None) -> None:
    if forecast is None:
        return
    if forecast.probability is not None:
        sheet.put(m.PROBABILITY, forecast.probability, experiment_id)
    for percentile, moment in (("p50", forecast.finish_at), ("p80", forecast.p80_at), ("p95", forecast.p95_at)):
        sheet.put(m.FINISH, moment, experiment_id, percentile)
