"""``idempotent`` and ``hedge``: which jobs may run twice, and that hedging has one to hedge."""

import pytest

from jqueuer.descriptor import read_description
from jqueuer.errors import DescriptionError
from jqueuer.model import effective_job


def idempotent_jobs(text: str) -> list[bool | None]:
    description = read_description(text.encode())
    return [effective_job(description.experiment, job).idempotent for job in description.jobs]


def test_a_jobs_own_word_wins_over_the_experiments() -> None:
    jobs = "jobs: [{command: [x]}, {command: [x], idempotent: true}, {command: [x], idempotent: false}]"
    assert idempotent_jobs(jobs) == [None, True, False]
    assert idempotent_jobs(f"idempotent: true\n{jobs}") == [True, True, False]
    assert idempotent_jobs(f"idempotent: false\n{jobs}") == [None, True, False]


def test_the_jobs_of_a_sweep_are_what_their_template_says() -> None:
    assert idempotent_jobs("sweep: {repeat: 2, job: {command: [x], idempotent: true}}") == [True, True]
    assert idempotent_jobs("idempotent: true\nsweep: {repeat: 1, job: {command: [x]}}") == [True]


@pytest.mark.parametrize("written", ["1", "maybe", "null", "yes"])
def test_it_is_true_or_false(written: str) -> None:
    with pytest.raises(DescriptionError, match="expected true or false"):
        read_description(f"idempotent: {written}\njobs: [{{command: [x]}}]".encode())


@pytest.mark.parametrize(
    "jobs",
    [
        "jobs: [{command: [x]}, {command: [y], idempotent: false}]",
        "idempotent: true\njobs: [{command: [x], idempotent: false}]",
        "sweep: {repeat: 3, job: {command: [x]}}",
    ],
)
def test_hedging_without_a_job_that_may_run_twice_is_refused_with_what_to_do(jobs: str) -> None:
    with pytest.raises(DescriptionError) as caught:
        read_description(f"name: x\nhedge: true\n{jobs}".encode())
    (fault,) = caught.value.faults
    assert (fault.path, fault.line) == ("hedge", 2)
    assert "add idempotent: true to the experiment or to the jobs" in fault.message


@pytest.mark.parametrize(
    "jobs",
    [
        "jobs: [{command: [x]}, {command: [y], idempotent: true}]",
        "idempotent: true\njobs: [{command: [x]}]",
        "sweep: {repeat: 3, job: {command: [x], idempotent: true}}",
    ],
)
def test_hedging_needs_one_such_job(jobs: str) -> None:
    assert read_description(f"hedge: true\n{jobs}".encode()).experiment.hedge


def test_where_a_job_is_faulty_nobody_guesses_about_it() -> None:
    with pytest.raises(DescriptionError) as caught:
        read_description(b"hedge: true\njobs: [{command: [x]}, {command: x, idempotent: true}]")
    assert [fault.path for fault in caught.value.faults] == ["jobs[1].command"]
