"""``queue-length``, ``target-duration`` and ``schedule``."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from situations import running, seconds_of_the_day, situation, situations

from cautoscaler import AutoscalerState, Basis, Parameters, Situation, Verdict, Window, get, initial, step
from cautoscaler.policies.schedule import holds

HOUR = 3600


def needed(policy: str, seen: Situation) -> int:
    return get(policy).suggest(seen).needed


# --- queue-length


@pytest.mark.parametrize(
    ("jobs", "share", "expected"),
    [(500, 1.0, 500), (500, 10.0, 50), (501, 10.0, 51), (1, 10.0, 1), (3, 0.5, 6), (3, 0.1, 30), (0, 10.0, 0)],
)
def test_one_container_for_every_so_many_jobs(jobs: int, share: float, expected: int) -> None:
    assert (
        needed("queue-length", situation(jobs_left=jobs, parameters=Parameters(jobs_per_container=share))) == expected
    )


def test_the_length_of_the_queue_is_within_the_limits_and_no_more_than_jobs() -> None:
    half = Parameters(jobs_per_container=0.5)
    assert initial("queue-length", situation(parameters=half)).target == 10
    assert initial("queue-length", situation(jobs_left=3, parameters=half)).target == 3


@given(situations(), st.integers(0, 1000))
def test_more_jobs_never_need_fewer_containers(seen: Situation, more: int) -> None:
    longer = situation(parameters=seen.parameters, jobs_left=seen.jobs_left + more)
    assert needed("queue-length", longer) >= needed("queue-length", seen)


# --- target-duration


def targeted(**changes: Any) -> Situation:
    """An hour for 500 jobs of two minutes."""
    return situation(parameters=Parameters(target_seconds=3600.0), **changes)


def test_a_target_counts_from_the_start_whatever_the_deadline() -> None:
    assert needed("target-duration", targeted()) == 17  # 500 × 120 ÷ 3600
    assert needed("target-duration", targeted(started_at=-600.0, deadline_at=None, margin_seconds=99.0)) == 20
    suggestion = get("target-duration").suggest(targeted())
    assert suggestion.reason == "500 jobs × 1 task × 120 s ÷ 3600 s left to the target = 17 containers"


@pytest.mark.parametrize("now", [3480.0, 3599.9, 3600.0, 3601.0, 1e9])
def test_near_the_target_and_past_it_every_job_left_gets_a_container(now: float) -> None:
    assert needed("target-duration", targeted(now=now, jobs_left=7)) == 7


def test_past_the_target_it_says_so() -> None:
    suggestion = get("target-duration").suggest(targeted(now=3660.0, jobs_left=7))
    said = "the target passed 60 s ago, no more than a job takes: one container for each of 7 jobs"
    assert (suggestion.reason, suggestion.basis) == (said, Basis.TARGET)


def test_a_target_is_followed_after_three_that_agree() -> None:
    state, verdicts = AutoscalerState("target-duration"), []
    for _ in range(3):
        state, decision = step(state, running(2, parameters=Parameters(target_seconds=36_000.0), jobs_left=1000))
        verdicts.append(decision.verdict)
    assert verdicts == [Verdict.CONFIRM, Verdict.CONFIRM, Verdict.SCALE_UP]


@given(situations(), st.floats(0, 1e9), st.floats(0, 1e9))
def test_a_later_target_never_needs_more_containers(seen: Situation, one: float, other: float) -> None:
    sooner, later = (
        situation(
            parameters=Parameters(target_seconds=target),
            jobs_left=seen.jobs_left,
            now=seen.now,
            started_at=seen.started_at,
            estimate_seconds=seen.estimate_seconds,
        )
        for target in sorted((one, other))
    )
    assert needed("target-duration", later) <= max(needed("target-duration", sooner), 1)


# --- schedule

NIGHT = Window(22 * HOUR, 6 * HOUR, 10)
OFFICE = Window(8 * HOUR, 18 * HOUR, 2)


def at(hour: float, **keys: Any) -> Situation:
    """That time of a day somewhere in the years."""
    keys.setdefault("windows", (OFFICE, NIGHT))
    day = 20_000 * 24 * HOUR
    return situation(now=day + hour * HOUR, started_at=0.0, parameters=Parameters(**keys))


@pytest.mark.parametrize(
    ("hour", "expected"),
    [(7.99, 1), (8, 2), (17.99, 2), (18, 1), (21.99, 1), (22, 10), (23.99, 10), (0, 10), (5.99, 10), (6, 1)],
)
def test_a_window_holds_from_its_beginning_until_just_before_its_end_over_midnight_too(
    hour: float, expected: int
) -> None:
    assert needed("schedule", at(hour)) == expected


def test_the_first_window_that_holds_decides() -> None:
    lunch = Window(12 * HOUR, 13 * HOUR, 0)
    assert needed("schedule", at(12.5, windows=(lunch, OFFICE))) == 0
    assert needed("schedule", at(12.5, windows=(OFFICE, lunch))) == 2


def test_outside_the_windows_it_is_the_given_number_or_the_minimum() -> None:
    assert needed("schedule", at(7)) == 1
    assert needed("schedule", at(7, containers=4)) == 4
    assert initial("schedule", at(7, containers=99)).target == 10


@pytest.mark.parametrize(("offset_hours", "expected"), [(0, 1), (1, 2), (-1, 1), (15, 10), (-9.5, 10)])
def test_the_windows_mean_the_clock_of_their_time_zone(offset_hours: float, expected: int) -> None:
    assert needed("schedule", at(7.5, utc_offset_seconds=int(offset_hours * HOUR))) == expected


def test_a_schedule_says_what_time_it_takes_it_to_be() -> None:
    inside, outside = get("schedule").suggest(at(23.5)), get("schedule").suggest(at(7.25))
    assert inside.reason == "it is 23:30, and from 22:00 to 06:00 there are 10 containers"
    assert outside.reason == "it is 07:15, outside the schedule: the minimum of 1 container"
    assert inside.inputs == {"time_of_day": "23:30"}


def test_a_schedule_is_followed_at_once_even_before_a_container_runs() -> None:
    _, decision = step(AutoscalerState("schedule"), at(9))
    assert (decision.verdict, decision.target) == (Verdict.SCALE_UP, 2)
    _, decision = step(AutoscalerState("schedule"), situation(now=0.0, requested=3, parameters=Parameters()))
    assert (decision.verdict, decision.target) == (Verdict.SCALE_DOWN, 1)


@given(seconds_of_the_day, seconds_of_the_day, st.integers(0, 86_399))
def test_two_windows_with_the_same_ends_share_the_day(one: int, other: int, second: int) -> None:
    if one != other:
        assert holds(Window(one, other, 1), second) != holds(Window(other, one, 1), second)
