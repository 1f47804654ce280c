"""An experiment in one flat JSON object: what it did, against what was asked of it."""

from __future__ import annotations

from typing import Any

from jqueuer.records import Counts, ExperimentRecord, Statistics
from jqueuer.states import ExperimentState


def summarize(record: ExperimentRecord, counts: Counts, statistics: Statistics, *, now: float) -> dict[str, Any]:
    """The summary; durations are seconds since the experiment was received.

    ``deadline_met`` is None where there is no deadline, or while it is still open. Only an accomplished experiment
    meets its deadline.
    """
    return {
        "experiment_id": record.id,
        "state": record.state.value,
        "jobs": {
            "total": counts.total,
            "accomplished": counts.accomplished,
            "failed": counts.failed,
            "cancelled": counts.cancelled,
        },
        "attempts": statistics.attempts,
        "killed": statistics.killed,
        "deadline_seconds": _since(record, record.deadline_at),
        "finished_seconds": _since(record, record.finished_at),
        "deadline_met": _deadline_met(record, now),
        "container_seconds": round(statistics.container_seconds, 3),
        "job_seconds": round(statistics.job_seconds, 3),
        "peak_containers": statistics.peak_containers,
        "scale_ups": statistics.scale_ups,
        "scale_downs": statistics.scale_downs,
    }


def _since(record: ExperimentRecord, moment: float | None) -> float | None:
    return None if moment is None else round(moment - record.created_at, 3)


def _deadline_met(record: ExperimentRecord, now: float) -> bool | None:
    if record.deadline_at is None:
        return None
    if record.state is ExperimentState.ACCOMPLISHED and record.finished_at is not None:
        return record.finished_at <= record.deadline_at
    if record.state.terminal or now > record.deadline_at:
        return False
    return None
