"""After a change a policy whose numbers flutter waits; limits and the first containers wait for nothing."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from situations import running, situation

from cautoscaler import Advice, AutoscalerState, Decision, Parameters, Situation, Verdict, step


def queued(requested: int, jobs: int, **changes: Any) -> Situation:
    """Ten jobs for each container; the last change was at 100 s."""
    changes.setdefault("parameters", Parameters(jobs_per_container=10.0))
    return running(requested, jobs_left=jobs, changed_at=100.0, **changes)


def judged(seen: Situation, policy: str = "queue-length") -> Decision:
    return step(AutoscalerState(policy), seen)[1]


def test_a_scale_down_waits_until_the_last_change_is_a_minute_old() -> None:
    early, late = judged(queued(5, 30, now=120.0)), judged(queued(5, 30, now=160.0))
    assert (early.verdict, early.target, early.clamped) == (Verdict.COOL_DOWN, 5, 3)
    assert early.reason == (
        "30 jobs waiting or running ÷ 10 per container = 3 containers; "
        "cooling down for another 40 s before going from 5 to 3"
    )
    assert (late.verdict, late.target) == (Verdict.SCALE_DOWN, 3)


def test_a_scale_up_does_not_wait_unless_the_description_says_so() -> None:
    seen = queued(3, 50, now=101.0)
    assert judged(seen).verdict is Verdict.SCALE_UP
    patient = replace(seen, parameters=replace(seen.parameters, up_cooldown_seconds=30.0))
    assert judged(patient).verdict is Verdict.COOL_DOWN
    assert judged(replace(patient, now=130.0)).verdict is Verdict.SCALE_UP


def test_a_cool_down_of_nothing_waits_for_nothing() -> None:
    seen = queued(5, 30, now=100.0, parameters=Parameters(jobs_per_container=10.0, down_cooldown_seconds=0.0))
    assert judged(seen).verdict is Verdict.SCALE_DOWN


def test_before_the_first_change_there_is_nothing_to_wait_for() -> None:
    assert judged(replace(queued(5, 30, now=0.0), changed_at=None)).verdict is Verdict.SCALE_DOWN


def test_a_clock_that_was_set_back_does_not_prolong_the_wait() -> None:
    assert "for another 60 s" in judged(queued(5, 30, now=-1e6)).reason


def test_limits_and_the_first_containers_do_not_wait() -> None:
    slow = Parameters(jobs_per_container=10.0, up_cooldown_seconds=600.0, down_cooldown_seconds=600.0)
    below = judged(queued(5, 30, now=101.0, parameters=slow, minimum=7))
    above = judged(queued(5, 30, now=101.0, parameters=slow, maximum=4))
    none = judged(situation(requested=0, jobs_left=30, now=101.0, changed_at=100.0, parameters=slow))
    assert [(one.verdict, one.target) for one in (below, above, none)] == [
        (Verdict.SCALE_UP, 7),
        (Verdict.SCALE_DOWN, 4),
        (Verdict.SCALE_UP, 3),
    ]


@pytest.mark.parametrize("policy", ["fixed", "schedule", "deadline-paper", "deadline-2018"])
def test_policies_whose_numbers_stand_firm_never_cool_down(policy: str) -> None:
    parameters = Parameters(containers=2, up_cooldown_seconds=1e6, down_cooldown_seconds=1e6)
    state, seen = AutoscalerState(policy), queued(5, 30, now=101.0, parameters=parameters)
    verdicts = []
    for _ in range(4):
        state, decision = step(state, seen)
        verdicts.append(decision.verdict)
    assert Verdict.SCALE_DOWN in verdicts
    assert Verdict.COOL_DOWN not in verdicts


def test_a_row_that_was_complete_acts_once_the_wait_is_over() -> None:
    """Of three suggestions that agree the most cautious one counts, those of the wait included."""
    parameters = Parameters(target_seconds=5400.0, down_cooldown_seconds=60.0)
    state, verdicts, targets = AutoscalerState("target-duration"), [], []
    for now, jobs in ((110.0, 120), (120.0, 130), (130.0, 120), (140.0, 120), (150.0, 120), (160.0, 120)):
        state, decision = step(state, queued(10, jobs, now=now, parameters=parameters))
        verdicts.append(decision.verdict)
        targets.append(decision.target)
    waiting = [Verdict.CONFIRM] * 2 + [Verdict.COOL_DOWN] * 3
    assert verdicts == [*waiting, Verdict.SCALE_DOWN]
    assert targets == [10] * 5 + [3]
    state, decision = step(state, queued(3, 30, now=170.0, parameters=parameters))
    assert decision.verdict is Verdict.CONFIRM


def test_only_the_fallback_of_a_service_cools_down() -> None:
    asked = queued(5, 30, now=101.0, fallback="queue-length")
    assert judged(asked, "rest").verdict is Verdict.COOL_DOWN
    assert judged(replace(asked, advice=Advice(containers=2)), "rest").verdict is Verdict.SCALE_DOWN


@given(
    st.sampled_from(["queue-length", "target-duration", "budget"]),
    st.floats(0, 300),
    st.floats(0, 300),
    st.lists(st.tuples(st.floats(0.1, 120), st.integers(1, 400)), min_size=1, max_size=30),
)
def test_between_two_changes_lies_the_cool_down_of_the_second(
    policy: str, up_seconds: float, down_seconds: float, looks: list[tuple[float, int]]
) -> None:
    parameters = Parameters(
        jobs_per_container=20.0,
        target_seconds=3600.0,
        budget_container_seconds=40_000.0,
        up_cooldown_seconds=up_seconds,
        down_cooldown_seconds=down_seconds,
    )
    state, requested, changed_at, now = AutoscalerState(policy), 3, None, 0.0
    for seconds, jobs in looks:
        now += seconds
        seen = running(requested, jobs_left=jobs, now=now, changed_at=changed_at, parameters=parameters)
        state, decision = step(state, seen)
        if decision.verdict.acts:
            cooldown = up_seconds if decision.verdict is Verdict.SCALE_UP else down_seconds
            assert changed_at is None or now - changed_at >= cooldown
            requested, changed_at = decision.target, now
        assert (decision.verdict is Verdict.COOL_DOWN) == ("cooling down" in decision.reason)
