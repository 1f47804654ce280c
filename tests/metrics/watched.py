"""A running system that a real Prometheus watches with the project's own configuration and rules."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from jqueuer.client import Client
from jqueuer.embedded import Embedded
from tests.contract.brokers import RabbitMQ, why_no_rabbitmq
from tests.embedded.running import QUICK, System
from tests.metrics_parts import Bridge, Prometheus, require_prometheus, running_bridge, running_prometheus
from tests.ports import free_port

ALL_UP = dict.fromkeys(("manager", "statsd", "rabbitmq", "prometheus"), "up")
"""What the project's configuration names. This RabbitMQ carries no jobs: an embedded system has its own broker."""

JOBS = 16
FAILING = 4
_HEAD = """
deadline: 10m
policy: {name: fixed, containers: 2, period: 200ms}
containers: {min: 1, max: 2}
on_failure: {action: requeue, max_attempts: 1}
pre_job: [sleep, "0.05"]
post_job: [sleep, "0.05"]
"""
_LATE = """
name: late
deadline: 1s
policy: {name: fixed, containers: 1}
jobs: [{id: slow, command: [sleep, "3"]}]
"""


@dataclass(frozen=True)
class Watched:
    """The system, what watches it, and an experiment that has ended in it."""

    system: System
    bridge: Bridge
    prometheus: Prometheus
    experiment_id: str
    late_id: str
    """An experiment that ended after its deadline."""
    began_at: float
    ended_at: float

    def values(self, query: str) -> list[float]:
        """All values of a query while the experiments ran; Grafana's variables are filled in."""
        spoken = query.replace("$__rate_interval", "5s").replace("$experiment", self.experiment_id)
        data = self.prometheus.ask("query_range", query=spoken, start=self.began_at, end=self.ended_at, step=0.2)
        return [float(value) for series in data["result"] for _, value in series["values"]]


@contextmanager
def watched_system(directory: Path) -> Iterator[Watched]:
    """All of it, until the experiments have ended and Prometheus has seen that."""
    require_prometheus()
    if (reason := why_no_rabbitmq()) is not None:
        pytest.fail(reason) if os.environ.get("CI") == "true" else pytest.skip(reason)
    with (
        running_bridge() as bridge,
        _rabbitmq(directory / "rabbitmq") as metrics_port,
        Embedded(directory / "system", settings=_settings(bridge)) as embedded,
        Client(embedded.url, token=embedded.token) as api,
        running_prometheus(
            directory,
            {
                "manager": embedded.url.removeprefix("http://"),
                "statsd": bridge.url.removeprefix("http://"),
                "rabbitmq": f"127.0.0.1:{metrics_port}",
            },
            embedded.token_file,
        ) as prometheus,
    ):
        _wait_until(lambda: prometheus.answering() == ALL_UP, "Prometheus looks at everything")
        system, began_at = System(embedded, api), time.time()
        late_id, experiment_id = system.submit(_LATE), system.submit(_description())
        for one in (late_id, experiment_id):
            api.wait(one, poll_seconds=0.05)
        _wait_until(lambda: _has_seen_the_end(prometheus, experiment_id), "Prometheus has seen the end")
        yield Watched(system, bridge, prometheus, experiment_id, late_id, began_at, time.time())


def _settings(bridge: Bridge) -> dict[str, str]:
    return QUICK | {"JQUEUER_STATSD_HOST": "127.0.0.1", "JQUEUER_STATSD_PORT": str(bridge.port)}


def _description() -> str:
    jobs = [f'- {{id: j{number}, command: [sleep, "0.2"]}}' for number in range(JOBS)]
    jobs += [f'- {{id: f{number}, command: ["false"]}}' for number in range(FAILING)]
    return f"{_HEAD}\njobs:\n" + "\n".join(jobs)


@contextmanager
def _rabbitmq(directory: Path) -> Iterator[int]:
    port = free_port()
    server = RabbitMQ(directory, metrics_port=port)
    try:
        server.start()
        yield port
    finally:
        server.kill()


def _wait_until(true: Callable[[], object], what: str) -> None:
    deadline = time.monotonic() + 60
    while not true():
        assert time.monotonic() < deadline, f"not within 60 s: {what}"
        time.sleep(0.05)


def _has_seen_the_end(prometheus: Prometheus, experiment_id: str) -> bool:
    queries = (
        f'jqueuer_jobs{{experiment="{experiment_id}", state="accomplished"}} == {JOBS}',
        f'sum(jqueuer_agent_jobs_finished_total{{experiment="{experiment_id}"}}) == {JOBS + FAILING}',
    )
    return all(prometheus.ask("query", query=query)["result"] for query in queries)
