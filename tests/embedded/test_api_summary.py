"""The summary as a pure function: when a deadline counts as met."""

from __future__ import annotations

import pytest

from jqueuer.model import Experiment
from jqueuer.records import Counts, ExperimentRecord, Statistics
from jqueuer.states import ExperimentState
from jqueuer.summary import summarize

State = ExperimentState


@pytest.mark.parametrize(
    ("state", "deadline_at", "finished_at", "now", "met"),
    [
        (State.ACCOMPLISHED, 1100.0, 1100.0, 1200.0, True),
        (State.ACCOMPLISHED, 1100.0, 1100.1, 1200.0, False),
        (State.ACCOMPLISHED, None, 1050.0, 1200.0, None),
        (State.RUNNING, 1100.0, None, 1100.0, None),
        (State.RUNNING, 1100.0, None, 1100.1, False),
        (State.FAILED, 1100.0, 1050.0, 1200.0, False),
        (State.CANCELLED, 1100.0, 1050.0, 1051.0, False),
    ],
)
def test_only_an_accomplished_experiment_meets_its_deadline(
    state: State, deadline_at: float | None, finished_at: float | None, now: float, met: bool | None
) -> None:
    record = ExperimentRecord(
        id="x-aaaaaa",
        description=Experiment(),
        state=state,
        created_at=1000.0,
        deadline_at=deadline_at,
        finished_at=finished_at,
    )
    summary = summarize(record, Counts(accomplished=2, failed=1, queued=3), Statistics(killed=1), now=now)
    assert summary["deadline_met"] is met
    assert summary["deadline_seconds"] == (None if deadline_at is None else 100.0)
    assert summary["finished_seconds"] == (None if finished_at is None else pytest.approx(finished_at - 1000.0))
    assert summary["jobs"] == {"total": 6, "accomplished": 2, "failed": 1, "cancelled": 0}
    assert summary["killed"] == 1
