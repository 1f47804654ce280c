"""The metrics of the manager by name, and the sheet that one scrape fills in.

Names follow Prometheus' conventions: base units, ``_total`` for what only grows. Labels are of bounded sets:
experiments that run or ended lately, nodes, states; never a job, never a container. docs/metrics.md lists all of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

from prometheus_client.metrics_core import Metric


@dataclass(frozen=True, slots=True)
class Described:
    """A metric before it has any value."""

    name: str
    """Of a counter without the ``_total`` that it is shown with."""
    help: str
    labels: tuple[str, ...] = ()
    type: Literal["gauge", "counter", "summary"] = "gauge"


def _counter(name: str, text: str, *labels: str) -> Described:
    return Described(name, text, labels, "counter")


_EACH: Final = ("experiment",)
_BY_STATE: Final = ("experiment", "state")

EXPERIMENTS = Described("jqueuer_experiments", "Experiments by state", ("state",))
JOBS = Described("jqueuer_jobs", "Jobs by state", _BY_STATE)
QUEUE_MESSAGES = Described("jqueuer_queue_messages", "Messages that wait in the experiment's job queue", _EACH)
WANTED = Described("jqueuer_containers_wanted", "Containers wanted by the last decision", _EACH)
REQUESTED = Described("jqueuer_containers_requested", "Containers requested of the orchestrator", _EACH)
CONTAINERS = Described("jqueuer_containers", "Containers observed, by state", _BY_STATE)
UNPLACED = Described("jqueuer_containers_unplaced", "Containers requested that no node has room for", _EACH)
CREATED = Described("jqueuer_experiment_created_timestamp_seconds", "When the experiment was submitted", _EACH)
DEADLINE = Described("jqueuer_experiment_deadline_timestamp_seconds", "When the experiment should be over", _EACH)
PROBABILITY = Described(
    "jqueuer_forecast_deadline_probability", "Forecast: that the last job ends before the deadline, 0 to 1", _EACH
)
FINISH = Described(
    "jqueuer_forecast_finish_timestamp_seconds",
    "Forecast: the moment before which the last job ends with 50, 80 or 95 percent",
    ("experiment", "percentile"),
)
LAST_CLAIM = Described("jqueuer_last_claim_timestamp_seconds", "When a container last took a job", _EACH)
LAST_OUTCOME = Described("jqueuer_last_outcome_timestamp_seconds", "When an attempt last ended by itself", _EACH)
TASKS = Described("jqueuer_task_duration_seconds", "Durations of the tasks that succeeded", _EACH, "summary")
JOB_SECONDS = _counter("jqueuer_job_seconds", "Durations of accomplished jobs, added up", *_EACH)
ATTEMPTS = _counter("jqueuer_attempts", "Attempts at jobs that were started", *_EACH)
ATTEMPTS_LOST = _counter("jqueuer_attempts_lost", "Attempts ended by the loss of their container", *_EACH)
CONTAINER_SECONDS = _counter("jqueuer_container_seconds", "Lifetimes of the containers that ended, added up", *_EACH)
SCALINGS = _counter("jqueuer_scalings", "Times the containers were scaled, up or down", "experiment", "direction")
NODE_CONTAINERS = Described(
    "jqueuer_node_containers", "Containers of all experiments observed on a node, by state", ("node", "state")
)
STORE_UP = Described("jqueuer_store_up", "1 where the store answers; without it nothing is known of experiments")
STORE_MEMORY = Described("jqueuer_store_memory_bytes", "Memory that the store uses for its data")
BROKER_UP = Described("jqueuer_broker_up", "1 where the broker answers within a second")
OPEN_REQUESTS = Described("jqueuer_open_requests", "Requests that the manager has not answered yet, by kind", ("kind",))
REFUSED_LOGINS = _counter("jqueuer_refused_logins", "Requests that showed a wrong token")
WEBHOOKS = _counter("jqueuer_webhooks", "Webhooks: tries that delivered or failed, and messages given up", "outcome")
BUILD = Described("jqueuer_build_info", "1, with the manager's version", ("version",))


class Sheet:
    """The values of one scrape; used by one thread."""

    def __init__(self) -> None:
        self._families: dict[Described, Metric] = {}

    def put(self, metric: Described, value: float, *labels: str) -> None:
        """The value of a gauge or counter, for these label values in the order of their names."""
        self._add(metric, "_total" if metric.type == "counter" else "", value, labels)

    def put_summary(self, metric: Described, count: int, total: float, *labels: str) -> None:
        """How many there were, and their sum."""
        self._add(metric, "_count", count, labels)
        self._add(metric, "_sum", total, labels)

    def _add(self, metric: Described, suffix: str, value: float, labels: tuple[str, ...]) -> None:
        family = self._families.setdefault(metric, Metric(metric.name, metric.help, metric.type))
        family.add_sample(metric.name + suffix, dict(zip(metric.labels, labels, strict=True)), value)

    def families(self) -> list[Metric]:
        """What was put down, in the order in which each metric came first."""
        return list(self._families.values())
