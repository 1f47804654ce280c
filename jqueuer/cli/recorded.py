"""What was recorded of real runs: by a manager, or in a file of samples."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from jqueuer.cli.exits import WrongFileError
from jqueuer.client import Client
from jqueuer.errors import Fault
from jqueuer.model import POST_JOB_ID, Experiment
from jqueuer.records import Counts, ExperimentRecord, JournalEntry, Statistics
from jqueuer.simulation.curves import RECORDED_COLUMNS, Curves, recorded_curves
from jqueuer.simulation.replaying import NoReplayError, Ran, Records
from jqueuer.states import AttemptOutcome, ExperimentState, JobState

_ALL_DECISIONS: Final = 5000


def fetch_records(client: Client, experiment_id: str) -> Records:
    """All that a replay needs of an experiment that has ended; :class:`NoReplayError` while it has not."""
    found = client.experiment(experiment_id)
    state = ExperimentState(found["state"])
    if not found["settled"]:
        what = "its last containers are still ending" if state.terminal else f"it is {state}"
        raise NoReplayError(f"{experiment_id} can be replayed once it has ended: {what}")
    experiment = ExperimentRecord(
        id=experiment_id,
        description=Experiment.model_validate(found["description"]),
        state=state,
        created_at=found["created_at"],
        deadline_at=found["deadline_at"],
        finished_at=found["finished_at"],
    )
    post = _ended(client, experiment_id, POST_JOB_ID, 0) if experiment.description.post is not None else ()
    return Records(
        experiment=experiment,
        counts=Counts.model_validate({state.value: found["jobs"][state.value] for state in JobState}),
        statistics=Statistics.model_validate(found["statistics"]),
        attempts=tuple(_attempts(client, experiment_id)),
        decisions=tuple(map(JournalEntry.model_validate, client.journal(experiment_id, limit=_ALL_DECISIONS))),
        post_seconds=sum(attempt.seconds for attempt in post),
    )


def read_recorded(file: Path, deadline_seconds: float | None) -> Curves:
    """The run in a CSV file of samples; :class:`~jqueuer.cli.exits.WrongFileError` where it is none."""
    with file.open(encoding="utf-8", newline="") as lines:
        rows = csv.DictReader(lines)
        if missing := [column for column in RECORDED_COLUMNS if column not in (rows.fieldnames or ())]:
            raise WrongFileError(file, (Fault("", f"lacks the columns {', '.join(missing)}", 1),))
        try:
            return recorded_curves("recorded", rows, deadline_seconds)
        except (TypeError, ValueError) as error:
            raise WrongFileError(file, (Fault("", f"expected numbers: {error}", rows.line_num),)) from None


def _attempts(client: Client, experiment_id: str) -> Iterator[Ran]:
    """Of every job. Most had a single one, which the list of jobs tells all about."""
    for job in client.jobs(experiment_id):
        if job["attempts"] == 1 and job["state"] == JobState.ACCOMPLISHED:
            yield _ran({**job, "outcome": AttemptOutcome.ACCOMPLISHED}, job["index"])
        elif job["attempts"]:
            yield from _ended(client, experiment_id, job["id"], job["index"])


def _ended(client: Client, experiment_id: str, job_id: str, index: int) -> tuple[Ran, ...]:
    attempts = client.job(experiment_id, job_id)["attempts"]
    return tuple(_ran(one, index) for one in attempts if one["finished_at"] is not None and one["outcome"] is not None)


def _ran(attempt: dict[str, Any], index: int) -> Ran:
    return Ran(
        job=index,
        container=attempt["container"],
        node=attempt["node"],
        started_at=attempt["started_at"],
        finished_at=attempt["finished_at"],
        outcome=AttemptOutcome(attempt["outcome"]),
    )
