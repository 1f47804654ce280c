"""What earlier experiments of the same kind tell of an experiment whose jobs have not ended yet."""

from __future__ import annotations

from itertools import islice
from typing import Final

from cautoscaler import Durations
from jqueuer.model import Experiment
from jqueuer.ports import ExperimentStore, JobLedger

_EXPERIMENTS: Final = 5
"""So many of the latest count; programs and data change."""


def history_of(experiments: ExperimentStore, ledger: JobLedger, description: Experiment) -> Durations:
    """The durations of the jobs of the latest finished experiments of the same image and name, put together."""
    durations = (ledger.measured(experiment_id).durations for experiment_id in experiments.finished_like(description))
    return Durations.merged(islice((found for found in durations if found.buckets), _EXPERIMENTS))
