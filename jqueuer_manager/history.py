"""What earlier experiments of the same kind tell of an experiment whose jobs have not ended yet."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from typing import Final

from cautoscaler import Durations
from jqueuer.model import Experiment
from jqueuer.ports import ExperimentStore, JobLedger
from jqueuer.records import JournalEntry

_EXPERIMENTS: Final = 5
"""So many of the latest count; programs and data change."""
_LAST_DECISIONS: Final = 20


def history_of(experiments: ExperimentStore, ledger: JobLedger, description: Experiment) -> Durations:
    """The durations of the jobs of the latest finished experiments of the same image and name, put together."""
    durations = (ledger.measured(experiment_id).durations for experiment_id in experiments.finished_like(description))
    return Durations.merged(islice((found for found in durations if found.buckets), _EXPERIMENTS))


def start_seconds_like(experiments: ExperimentStore, description: Experiment) -> float | None:
    """How long containers took to start in the latest experiment of the same kind that measured it."""
    for experiment_id in islice(experiments.finished_like(description), _EXPERIMENTS):
        decisions = experiments.decisions(experiment_id, limit=_LAST_DECISIONS)
        found = start_seconds_in(entry for entry in decisions if entry.action == "finish")
        if found is not None:
            return found
    return None


def start_seconds_in(decisions: Iterable[JournalEntry]) -> float | None:
    """How long containers take to start, as the last decision knew that says so."""
    told = [value for entry in decisions if isinstance(value := entry.inputs.get("start_seconds"), float | int)]
    return float(told[-1]) if told else None
