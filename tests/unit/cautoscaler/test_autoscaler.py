import math
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from situations import SIMPLE, cases, running, situation, situations

from cautoscaler import (
    AutoscalerState,
    CoherenceIndex,
    ContainerCounts,
    Decision,
    Situation,
    Verdict,
    initial,
    period_seconds,
    step,
)
from cautoscaler.calculator import MOST
from cautoscaler.decision import Basis


def steps(policy: str, *seen: Situation) -> list[Decision]:
    state, decisions = AutoscalerState(policy), []
    for one in seen:
        state, decision = step(state, one)
        decisions.append(decision)
    return decisions


@settings(deadline=None)
@given(cases())
def test_what_is_wanted_never_leaves_the_limits(case: tuple[str, Situation]) -> None:
    policy, seen = case
    _, decision = step(AutoscalerState(policy), seen)
    assert seen.minimum <= decision.clamped <= seen.maximum


@settings(deadline=None)
@given(cases())
def test_every_suggestion_is_a_finite_number_with_finite_inputs(case: tuple[str, Situation]) -> None:
    policy, seen = case
    _, decision = step(AutoscalerState(policy), seen)
    assert 0 <= decision.needed <= max(MOST, seen.jobs_left)
    assert all(math.isfinite(value) for value in decision.inputs.values() if isinstance(value, int | float))


@settings(deadline=None)
@given(st.sampled_from(SIMPLE), st.lists(situations(), min_size=1, max_size=8))
def test_what_is_asked_for_is_within_the_limits_and_everything_else_leaves_the_request_alone(
    policy: str, seen: list[Situation]
) -> None:
    for one, decision in zip(seen, steps(policy, *seen), strict=True):
        if decision.verdict.acts:
            assert one.minimum <= decision.target <= one.maximum or policy == "deadline-2018"
            assert decision.target <= one.maximum
            assert (decision.target > one.requested) == (decision.verdict is Verdict.SCALE_UP)
            assert decision.target != one.requested
        else:
            assert decision.target == one.requested
        assert decision.reason


@settings(deadline=None)
@given(cases(jobs_left=0))
def test_without_jobs_nothing_is_scaled_up(case: tuple[str, Situation]) -> None:
    policy, seen = case
    _, decision = step(AutoscalerState(policy, CoherenceIndex()), seen)
    assert decision.verdict is not Verdict.SCALE_UP


@settings(deadline=None)
@given(cases())
def test_the_first_number_is_within_the_limits(case: tuple[str, Situation]) -> None:
    policy, seen = case
    decision = initial(policy, seen)
    assert decision.verdict is Verdict.START
    assert decision.target <= seen.maximum
    assert decision.target >= (0 if policy == "deadline-2018" else seen.minimum)


@given(cases(), st.none() | st.floats(0.1, 100))
def test_a_period_is_positive_and_the_users_choice_wins(case: tuple[str, Situation], override: float | None) -> None:
    policy, seen = case
    period = period_seconds(policy, seen, override)
    assert period > 0
    assert override is None or period == override


def test_a_decision_tells_what_it_was_based_on() -> None:
    decision = initial("deadline-paper", situation())
    assert decision == Decision(
        Verdict.START,
        needed=12,
        clamped=10,
        target=10,
        basis=Basis.INITIAL,
        reason="500 jobs × 1 task × 120 s (estimate) ÷ 5400 s left = 12 containers; limited to the maximum of 10; "
        "10 containers are started",
        inputs={
            "policy": "deadline-paper",
            "basis": "initial phase",
            "jobs_left": 500,
            "jobs_accomplished": 0,
            "task_seconds": 120.0,
            "tasks_per_job": 1,
            "seconds_left": 5400.0,
            "margin_seconds": 0.0,
            "minimum": 1,
            "maximum": 10,
            "requested": 0,
            "starting": 0,
            "idle": 0,
            "busy": 0,
            "draining": 0,
        },
    )


def test_the_paper_scales_after_three_calculations_that_agree() -> None:
    seen = running(10, now=980.0, jobs_left=412, jobs_accomplished=88, mean_task_seconds=66.133)
    decisions = steps("deadline-paper", seen, seen, seen)
    assert [decision.verdict for decision in decisions] == [Verdict.CONFIRM, Verdict.CONFIRM, Verdict.SCALE_DOWN]
    assert [decision.target for decision in decisions] == [10, 10, 7]
    assert decisions[1].reason.endswith("; 2 of 3 calculations in a row agree to go from 10 to 7")
    assert decisions[2].reason.endswith("; 3 calculations in a row agree: from 10 to 7")


def test_the_code_of_2018_scales_after_four() -> None:
    seen = running(1, now=1000.0, jobs_left=412, jobs_accomplished=88, mean_task_seconds=10.0)
    verdicts = [decision.verdict for decision in steps("deadline-2018", seen, seen, seen, seen)]
    assert verdicts == [Verdict.CONFIRM] * 3 + [Verdict.SCALE_UP]


def test_nothing_is_judged_before_a_container_runs() -> None:
    """The paper's *running* is observed; starting containers are not running yet."""
    starting = situation(requested=3, containers=ContainerCounts(starting=3))
    state, decision = step(AutoscalerState("deadline-paper"), starting)
    assert (decision.verdict, decision.target) == (Verdict.WAIT, 3)
    assert state == AutoscalerState("deadline-paper")
    assert decision.reason.endswith("no container runs yet")


def test_running_means_requested_to_the_code_of_2018() -> None:
    starting = situation(requested=3, containers=ContainerCounts(starting=3))
    _, decision = step(AutoscalerState("deadline-2018"), starting)
    assert decision.verdict is Verdict.CONFIRM


@pytest.mark.parametrize("policy", ["deadline-paper", "deadline-2018", "fixed"])
def test_where_nothing_is_requested_the_need_is_met_at_once(policy: str) -> None:
    """Otherwise a service scaled to nothing would wait for ever for a container to run."""
    (decision,) = steps(policy, situation(requested=0))
    assert (decision.verdict, decision.target) == (Verdict.SCALE_UP, 10)


def test_a_lowered_maximum_is_obeyed_at_once() -> None:
    (decision,) = steps("deadline-paper", running(10, maximum=4))
    assert (decision.verdict, decision.target) == (Verdict.SCALE_DOWN, 4)
    assert decision.reason.endswith("10 limited to the maximum of 4 at once")


def test_a_raised_minimum_is_obeyed_at_once_but_not_by_the_code_of_2018() -> None:
    """That one starts below the minimum and comes up to it by its ordinary row of four."""
    seen = running(2, minimum=6, estimate_seconds=1.0)
    (paper,) = steps("deadline-paper", seen)
    assert (paper.verdict, paper.target) == (Verdict.SCALE_UP, 6)
    assert [decision.target for decision in steps("deadline-2018", seen, seen, seen, seen)] == [2, 2, 2, 6]


def test_a_number_frozen_before_the_limits_changed_is_clamped_again() -> None:
    seen = running(4)
    (*_, decision) = steps("deadline-2018", seen, seen, seen, replace(seen, maximum=6))
    assert (decision.verdict, decision.target) == (Verdict.SCALE_UP, 6)
    (*_, decision) = steps("deadline-2018", seen, seen, seen, replace(seen, maximum=4))
    assert (decision.verdict, decision.target) == (Verdict.HOLD, 4)


def test_an_amended_deadline_counts_in_the_next_calculation() -> None:
    seen = running(10)
    before, after = steps("deadline-paper", seen, replace(seen, deadline_at=54_000.0))
    assert (before.needed, after.needed) == (12, 2)
