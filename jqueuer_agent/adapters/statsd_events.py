"""Events for people: job and task starts, ends and durations, by statsd. Nothing is decided from them.

Names: ``jqueuer.job.started``, ``jqueuer.job.finished.<outcome>``, ``jqueuer.job.seconds.<outcome>`` (a timer) and the
same for ``task``, each followed by ``.<experiment>.<node>``.
"""

from __future__ import annotations

import re
from typing import Final

from statsd import StatsClient

from jqueuer.records import Attempt, Claim
from jqueuer.states import AttemptOutcome

_UNSAFE: Final = re.compile(r"[^A-Za-z0-9_-]")


class StatsdEvents:
    """Sends events over UDP; without a host it sends nothing."""

    def __init__(self, host: str, port: int) -> None:
        self._client = StatsClient(host, port, prefix="jqueuer") if host else None

    def started(self, claim: Claim) -> None:
        """An attempt has begun."""
        if self._client is not None:
            self._client.incr(f"job.started.{_where(claim)}")

    def finished(self, claim: Claim, attempt: Attempt) -> None:
        """An attempt has ended, with its tasks."""
        if self._client is None or attempt.outcome is None or attempt.finished_at is None:
            return
        where = _where(claim)
        with self._client.pipeline() as batch:
            for result in attempt.commands:
                if result.role.startswith("task"):
                    outcome = AttemptOutcome.ACCOMPLISHED if result.exit_code == 0 else AttemptOutcome.FAILED
                    batch.incr(f"task.started.{where}")
                    batch.incr(f"task.finished.{outcome.value}.{where}")
                    batch.timing(f"task.seconds.{outcome.value}.{where}", result.seconds * 1000)
            batch.incr(f"job.finished.{attempt.outcome.value}.{where}")
            batch.timing(
                f"job.seconds.{attempt.outcome.value}.{where}", (attempt.finished_at - attempt.started_at) * 1000
            )


def _where(claim: Claim) -> str:
    return f"{_UNSAFE.sub('_', claim.experiment_id)}.{_UNSAFE.sub('_', claim.node)}"
