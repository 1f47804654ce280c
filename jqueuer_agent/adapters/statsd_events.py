"""Events for people: starts, ends and durations of jobs, by statsd. Nothing is decided from them.

Each name ends in ``.<experiment>.<node>``:

* ``jqueuer.job.started``, a counter;
* ``jqueuer.job.finished.<outcome>``, a counter, and ``jqueuer.job.seconds.<outcome>``, a timer;
* ``jqueuer.command.seconds.<phase>.<outcome>``, a timer; the phases of a job are pre-job, task and post-job.

The agent itself says ``jqueuer.agent.seen.<node>``, a gauge: the time, and 0 when it goes.

``deploy/statsd-mapping.yml`` makes Prometheus metrics of them, docs/metrics.md lists those.
"""

from __future__ import annotations

import re
import socket
import threading
import time
from typing import Final

from statsd import StatsClient

from jqueuer.records import Attempt, Claim, CommandResult
from jqueuer.states import AttemptOutcome

_UNSAFE: Final = re.compile(r"[^A-Za-z0-9_-]")
_LOOK_SECONDS: Final = 30.0
SEEN_SECONDS: Final = 5.0
"""How often an agent says that it is there."""


class StatsdEvents:
    """Sends events over UDP; without a host, or while nobody knows its address, it sends nothing."""

    def __init__(self, host: str, port: int) -> None:
        self._host, self._port = host, port
        self._address = ""
        self._client: StatsClient | None = None
        if host:
            self._look_up()
            threading.Thread(target=self._keep_looking, name="statsd-address", daemon=True).start()

    def _keep_looking(self) -> None:
        """A service that was started anew has another address. Asking for it may take long: nobody waits for that."""
        while True:
            time.sleep(_LOOK_SECONDS)
            self._look_up()

    def _look_up(self) -> None:
        try:
            address = socket.gethostbyname(self._host)
        except OSError:
            return  # the name of a service that is down is not known; jobs go on without it
        if address != self._address:
            self._client, self._address = StatsClient(address, self._port, prefix="jqueuer"), address

    def started(self, claim: Claim) -> None:
        """An attempt has begun."""
        if self._client is not None:
            self._client.incr(f"job.started.{_where(claim)}")

    def finished(self, claim: Claim, attempt: Attempt) -> None:
        """An attempt has ended, with its commands."""
        if self._client is None or attempt.outcome is None or attempt.finished_at is None:
            return
        where, job_seconds = _where(claim), attempt.finished_at - attempt.started_at
        with self._client.pipeline() as batch:
            for result in attempt.commands:
                phase, outcome = _phase(result), _outcome(result)
                batch.timing(f"command.seconds.{phase}.{outcome.value}.{where}", result.seconds * 1000)
            batch.incr(f"job.finished.{attempt.outcome.value}.{where}")
            batch.timing(f"job.seconds.{attempt.outcome.value}.{where}", job_seconds * 1000)

    def seen(self, node: str, at: float) -> None:
        """The agent of this node is there at this moment, in seconds since the epoch; 0: it goes."""
        if self._client is not None:
            self._client.gauge(f"agent.seen.{_part(node)}", at)


class AgentSeen:
    """Called at every look at the containers; tells once in a while that the agent of this node is there."""

    def __init__(self, events: StatsdEvents, node: str) -> None:
        self._events, self._node = events, node
        self._not_before = 0.0

    def __call__(self) -> None:
        """It is there."""
        if time.monotonic() >= self._not_before:
            self._events.seen(self._node, time.time())
            self._not_before = time.monotonic() + SEEN_SECONDS

    def farewell(self) -> None:
        """It goes, as it was told to: nobody need be woken."""
        self._events.seen(self._node, 0)


def _where(claim: Claim) -> str:
    return f"{_part(claim.experiment_id)}.{_part(claim.node)}"


def _part(name: str) -> str:
    """A name as one part of a metric's name; parts are between dots."""
    return _UNSAFE.sub("_", name)


def _phase(result: CommandResult) -> str:
    return result.role.split()[0]  # tasks are numbered


def _outcome(result: CommandResult) -> AttemptOutcome:
    return AttemptOutcome.ACCOMPLISHED if result.exit_code == 0 else AttemptOutcome.FAILED
