import pytest
from hypothesis import given
from hypothesis import strategies as st
from situations import durations, situation

from cautoscaler import Basis, calculate, need
from cautoscaler.calculator import MOST

amounts = st.integers(0, 1_000_000)
positive = st.floats(min_value=1e-300, max_value=1e9)


@pytest.mark.parametrize(
    ("jobs_left", "task_seconds", "tasks_per_job", "seconds_left", "containers"),
    [
        (500, 120.0, 1, 5400.0, 12),  # the paper's experiment at its receipt: 11.1
        (333, 66.133, 1, 4420.0, 5),
        (500, 51.9, 1, 5400.0, 5),
        (10, 60.0, 3, 600.0, 3),
        (10, 60.0, 1, 600.0, 1),
        (1, 0.001, 1, 1e9, 1),
        (3, 0.1, 1, 0.3, 1),  # a hair above 1 in binary
        (1, 0.0, 1, 10.0, 1),  # tasks too short to measure still need a container
        (0, 60.0, 1, 600.0, 0),
        (1, 60.0, 1, 0.0, MOST),
        (1, 60.0, 1, -5.0, MOST),
    ],
)
def test_need_is_work_left_divided_by_time_left_rounded_up(
    jobs_left: int, task_seconds: float, tasks_per_job: int, seconds_left: float, containers: int
) -> None:
    assert need(jobs_left, task_seconds, tasks_per_job, seconds_left) == containers


@given(amounts, amounts, durations, st.integers(1, 1000), st.floats(-1e9, 1e9))
def test_more_jobs_never_need_fewer_containers(one: int, other: int, task: float, tasks: int, left: float) -> None:
    fewer, more = sorted((one, other))
    assert need(fewer, task, tasks, left) <= need(more, task, tasks, left)


@given(amounts, durations, st.integers(1, 1000), st.floats(-1e9, 1e9), st.floats(-1e9, 1e9))
def test_more_time_never_needs_more_containers(jobs: int, task: float, tasks: int, one: float, other: float) -> None:
    shorter, longer = sorted((one, other))
    assert need(jobs, task, tasks, shorter) >= need(jobs, task, tasks, longer)


@given(st.integers(1, 1_000_000), durations, st.integers(1, 1000), positive)
def test_jobs_that_are_left_need_at_least_one_container(jobs: int, task: float, tasks: int, left: float) -> None:
    """However short the tasks and however tiny the time left, the number is a finite one."""
    assert 1 <= need(jobs, task, tasks, left) <= MOST


def test_the_estimate_counts_until_the_first_job_is_accomplished() -> None:
    """A mean may be known before: that of the first tasks of jobs with several."""
    suggestion = calculate(situation(mean_task_seconds=10.0))
    assert suggestion.basis is Basis.INITIAL
    assert suggestion.needed == 12
    assert suggestion.reason == "500 jobs × 1 task × 120 s (estimate) ÷ 5400 s left = 12 containers"


def test_the_mean_counts_from_the_first_accomplished_job_on() -> None:
    suggestion = calculate(situation(now=980.0, jobs_left=412, jobs_accomplished=88, mean_task_seconds=66.133))
    assert suggestion.basis is Basis.MONITORED
    assert suggestion.needed == 7
    assert suggestion.reason == "412 jobs × 1 task × 66.1 s (mean) ÷ 4420 s left = 7 containers"
    assert suggestion.inputs == {
        "jobs_left": 412,
        "jobs_accomplished": 88,
        "task_seconds": 66.133,
        "tasks_per_job": 1,
        "seconds_left": 4420.0,
        "margin_seconds": 0.0,
    }


def test_without_jobs_nothing_is_needed() -> None:
    for deadline_at in (None, 5400.0, -5.0):
        suggestion = calculate(situation(jobs_left=0, deadline_at=deadline_at))
        assert (suggestion.needed, suggestion.basis) == (0, Basis.NO_JOBS_LEFT)


def test_without_a_deadline_the_maximum_is_wanted() -> None:
    suggestion = calculate(situation(deadline_at=None))
    assert (suggestion.needed, suggestion.basis) == (10, Basis.NO_DEADLINE)
    assert suggestion.reason == "without a deadline the maximum is used"


@pytest.mark.parametrize(
    ("now", "margin", "reason"),
    [
        (5400.0, 0.0, "the deadline passed 0 s ago, so the maximum is used"),
        (5446.0, 60.0, "the deadline passed 46 s ago, so the maximum is used"),
        (5350.0, 60.0, "the margin of 60 s before the deadline has begun, so the maximum is used"),
    ],
)
def test_at_and_past_the_deadline_the_maximum_is_wanted(now: float, margin: float, reason: str) -> None:
    suggestion = calculate(situation(now=now, margin_seconds=margin))
    assert (suggestion.needed, suggestion.basis, suggestion.reason) == (10, Basis.LATE, reason)


def test_the_margin_is_taken_off_the_time_left() -> None:
    assert calculate(situation(margin_seconds=400.0)).needed == need(500, 120.0, 1, 5000.0)
