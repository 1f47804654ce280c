"""Experiments as Prometheus metrics, read from the store at each scrape. No job is ever a label."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from typing import Final

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, SummaryMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from jqueuer.errors import EngineUnavailableError, NotFoundError
from jqueuer.records import Counts, ExperimentRecord, JournalEntry, ServiceStatus, Statistics
from jqueuer.states import ContainerState, ExperimentState, JobState
from jqueuer_manager.services import Services

RECENT_SECONDS: Final = 3600.0
"""So long an experiment stays in the metrics after its end, for its last values to be scraped."""

_MAX_RECENT: Final = 50
_DECISIONS_LOOKED_AT: Final = 50
_TERMINAL: Final = tuple(state for state in ExperimentState if state.terminal)


class ExperimentCollector(Collector):
    """Reads the experiments that run or ended lately."""

    def __init__(self, services: Services) -> None:
        self._services = services

    def collect(self) -> Iterable[Metric]:
        """The families; :class:`~jqueuer.errors.StoreUnavailableError` before the first where the store is away."""
        store = self._services.experiments
        experiments = GaugeMetricFamily("jqueuer_experiments", "Experiments by state", labels=["state"])
        for state in ExperimentState:
            if state is not ExperimentState.RECEIVING:
                experiments.add_metric([state.value], store.page(states=[state], limit=1)[1])
        families, active = _Families(), set(store.active())
        for record in self._records(active):
            counts, sums = self._services.ledger.counts(record.id), self._services.ledger.statistics(record.id)
            families.add(record, counts, sums)
            families.add_containers(record.id, *self._containers(record.id, record.id in active))
        return [experiments, *families.all()]

    def _containers(self, experiment_id: str, active: bool) -> tuple[int | None, ServiceStatus | None]:
        """How many are wanted, and what the orchestrator says; None where there is nothing to say."""
        if not active:
            return 0, ServiceStatus(requested=0)
        wanted = _wanted(self._services.experiments.decisions(experiment_id, limit=_DECISIONS_LOOKED_AT))
        try:
            return wanted, self._services.orchestrator.status(experiment_id) or ServiceStatus(requested=0)
        except EngineUnavailableError:
            return wanted, None

    def _records(self, active: set[str]) -> Iterator[ExperimentRecord]:
        store = self._services.experiments
        for experiment_id in sorted(active):
            with contextlib.suppress(NotFoundError):  # deleted meanwhile
                yield store.get(experiment_id)
        since = store.now() - RECENT_SECONDS
        ended, _ = store.page(states=_TERMINAL, limit=_MAX_RECENT)
        yield from (one for one in ended if one.id not in active and (one.finished_at or 0.0) > since)


def _wanted(decisions: list[JournalEntry]) -> int | None:
    """What the last decision on containers wanted, even where fewer could be requested."""
    last = next((entry for entry in reversed(decisions) if entry.containers is not None), None)
    wanted = None if last is None else last.inputs.get("wanted", last.containers)
    return wanted if isinstance(wanted, int) else None


class _Families:
    """The families that have an experiment as a label."""

    def __init__(self) -> None:
        each = ["experiment"]
        by_state = ["experiment", "state"]
        self._jobs = GaugeMetricFamily("jqueuer_jobs", "Jobs by state", labels=by_state)
        self._containers = GaugeMetricFamily("jqueuer_containers", "Containers observed, by state", labels=by_state)
        self._requested = GaugeMetricFamily("jqueuer_containers_requested", "Containers requested", labels=each)
        self._wanted = GaugeMetricFamily(
            "jqueuer_containers_wanted", "Containers wanted by the last decision", labels=each
        )
        self._unplaced = GaugeMetricFamily(
            "jqueuer_containers_unplaced", "Containers requested that no node has room for", labels=each
        )
        self._deadline = GaugeMetricFamily(
            "jqueuer_experiment_deadline_timestamp_seconds", "When the experiment should be over", labels=each
        )
        self._tasks = SummaryMetricFamily("jqueuer_task_seconds", "Durations of the tasks that succeeded", labels=each)
        self._counters = {
            field: CounterMetricFamily(f"jqueuer_{name}", text, labels=each)
            for field, name, text in (
                ("job_seconds", "job_seconds", "Durations of accomplished jobs"),
                ("attempts", "attempts", "Attempts at jobs that were started"),
                ("killed", "attempts_killed", "Attempts ended by the loss of their container"),
                ("container_seconds", "container_seconds", "Lifetimes of the containers that ended"),
                ("scale_ups", "scale_ups", "Times the containers were scaled up"),
                ("scale_downs", "scale_downs", "Times the containers were scaled down"),
            )
        }

    def add(self, record: ExperimentRecord, counts: Counts, sums: Statistics) -> None:
        """One experiment's jobs and sums."""
        label = [record.id]
        for job_state in JobState:
            self._jobs.add_metric([*label, job_state.value], getattr(counts, job_state.value))
        if record.deadline_at is not None:
            self._deadline.add_metric(label, record.deadline_at)
        self._tasks.add_metric(label, count_value=sums.tasks, sum_value=sums.task_seconds)
        for field, family in self._counters.items():
            family.add_metric(label, getattr(sums, field))

    def add_containers(self, experiment_id: str, wanted: int | None, status: ServiceStatus | None) -> None:
        """One experiment's containers: wanted, requested and observed are three things."""
        label = [experiment_id]
        if wanted is not None:
            self._wanted.add_metric(label, wanted)
        if status is None:
            return
        self._requested.add_metric(label, status.requested)
        self._unplaced.add_metric(label, status.unplaced)
        for state in ContainerState:
            self._containers.add_metric([*label, state.value], status.count(state))

    def all(self) -> list[Metric]:
        """Every family."""
        gauges = [self._jobs, self._wanted, self._requested, self._containers, self._unplaced, self._deadline]
        return [*gauges, self._tasks, *self._counters.values()]
