import pytest
from situations import running, situation

from cautoscaler import (
    Advice,
    AutoscalerState,
    Basis,
    Parameters,
    Policy,
    Situation,
    Suggestion,
    UnknownPolicyError,
    Verdict,
    get,
    initial,
    names,
    register,
    step,
)


def test_policies_are_found_by_name() -> None:
    ours = {"budget", "deadline-2018", "deadline-forecast", "deadline-paper", "fixed", "queue-length", "rest"}
    assert {*ours, "schedule", "target-duration"} == set(names())
    assert names() == tuple(sorted(names()))
    assert all(get(name).name == name and get(name).summary for name in names())


def test_an_unknown_policy_is_named_beside_those_there_are() -> None:
    with pytest.raises(UnknownPolicyError, match="no policy 'deadline'; there are budget, deadline-2018, deadline-"):
        get("deadline")


def test_no_two_policies_share_a_name() -> None:
    class Usurper(Policy):
        name = "fixed"
        summary = "A second one."

        def suggest(self, situation: Situation) -> Suggestion:
            raise NotImplementedError

    with pytest.raises(ValueError, match="two policies are called 'fixed'"):
        register(Usurper)


def test_the_deadline_policies_start_with_the_clamped_need() -> None:
    assert initial("deadline-paper", situation()).target == 10
    assert initial("deadline-paper", situation(estimate_seconds=30.0, minimum=6)).target == 6


def test_the_code_of_2018_ignores_the_minimum_at_the_start() -> None:
    assert initial("deadline-2018", situation(estimate_seconds=30.0, minimum=6)).target == 3
    assert initial("deadline-2018", situation()).target == 10


@pytest.mark.parametrize("policy", ["deadline-paper", "deadline-2018"])
def test_the_deadline_policies_do_not_look_at_the_number_of_jobs(policy: str) -> None:
    assert initial(policy, situation(jobs_left=2, estimate_seconds=10_000.0)).target == 4


@pytest.mark.parametrize(
    ("estimate", "paper", "code"), [(120.0, 30.0, 30.0), (121.0, 30.0, 31.0), (10.0, 2.5, 3.0), (0.4, 1.0, 1.0)]
)
def test_periods_are_a_quarter_of_a_task(estimate: float, paper: float, code: float) -> None:
    seen = situation(estimate_seconds=estimate)
    assert get("deadline-paper").period_seconds(seen) == paper
    assert get("deadline-2018").period_seconds(seen) == code


def test_the_papers_period_follows_the_measured_mean_that_of_2018_the_estimate() -> None:
    seen = situation(jobs_accomplished=1, mean_task_seconds=8.0)
    assert get("deadline-paper").period_seconds(seen) == 2.0
    assert get("deadline-2018").period_seconds(seen) == 30.0


def test_the_pace_so_far_corrects_the_number_of_2018() -> None:
    """At 980 s 88 jobs were done: at that pace the other 412 take 4588 s, 168 s more than there are."""
    seen = situation(now=980.0, jobs_left=412, jobs_accomplished=88, mean_task_seconds=66.133)
    suggestion = get("deadline-2018").suggest(seen)
    assert suggestion.needed == 8  # ceil(980 × 412 ÷ 88 × 7 ÷ 4420), and 7 by the paper
    assert suggestion.reason.endswith("= 7 containers; at the pace so far the rest takes 4588.2 s, so 8 containers")
    assert suggestion.inputs["pace_seconds"] == 4588.182


def test_a_pace_that_will_do_corrects_nothing() -> None:
    seen = situation(now=980.0, jobs_left=300, jobs_accomplished=200, mean_task_seconds=60.0)
    assert get("deadline-2018").suggest(seen).needed == get("deadline-paper").suggest(seen).needed == 5


def test_past_the_deadline_2018_drops_the_division() -> None:
    seen = situation(now=5410.0, jobs_left=2, jobs_accomplished=498, mean_task_seconds=1.5)
    suggestion = get("deadline-2018").suggest(seen)
    assert (suggestion.needed, suggestion.basis) == (3, Basis.LATE)
    assert suggestion.reason == "the deadline passed 10 s ago: 2 jobs × 1 task × 1.5 s undivided = 3 containers"


def test_a_margin_is_subtracted_by_both_deadline_policies() -> None:
    for policy in ("deadline-paper", "deadline-2018"):
        assert get(policy).suggest(situation(margin_seconds=600.0)).needed == 13


def test_fixed_is_followed_at_once_and_ends_with_the_jobs() -> None:
    state = AutoscalerState("fixed")
    _, decision = step(state, running(2, parameters=Parameters(containers=4)))
    assert (decision.verdict, decision.target) == (Verdict.SCALE_UP, 4)
    _, decision = step(state, running(4, parameters=Parameters(containers=4)))
    assert (decision.verdict, decision.target) == (Verdict.HOLD, 4)
    _, decision = step(state, running(4, parameters=Parameters(containers=4), jobs_left=3))
    assert (decision.verdict, decision.target) == (Verdict.SCALE_DOWN, 3)
    assert decision.reason == "4 containers as the description says; limited to 3 with 3 jobs left; from 4 to 3"


def test_fixed_without_a_number_is_the_maximum() -> None:
    assert initial("fixed", situation()).target == 10
    assert initial("fixed", situation(parameters=Parameters(containers=40))).target == 10


def test_the_service_is_followed_at_once_within_the_limits() -> None:
    advice = Advice(containers=99, reason="all we have")
    _, decision = step(AutoscalerState("rest"), running(2, advice=advice, fallback="deadline-paper"))
    assert (decision.verdict, decision.needed, decision.target) == (Verdict.SCALE_UP, 99, 10)
    assert decision.reason.startswith("the policy service answered 99 containers: all we have; limited")


@pytest.mark.parametrize(
    ("advice", "said"), [(Advice(error="no answer within 5 s"), "no answer within 5 s"), (None, "it was not asked")]
)
def test_without_an_answer_the_fallback_decides_by_its_own_rule(advice: Advice | None, said: str) -> None:
    state, seen = AutoscalerState("rest"), running(2, advice=advice, fallback="deadline-paper")
    verdicts = []
    for _ in range(3):
        state, decision = step(state, seen)
        verdicts.append(decision.verdict)
    assert verdicts == [Verdict.CONFIRM, Verdict.CONFIRM, Verdict.SCALE_UP]
    assert decision.basis is Basis.FALLBACK
    assert decision.reason.startswith(
        f"the policy service gave no number ({said}), so deadline-paper decides: 500 jobs × 1 task"
    )


def test_a_service_that_stands_in_for_itself_is_replaced_by_the_default_policy() -> None:
    stands_in = get("rest").suggest(situation(fallback="rest"))
    assert stands_in.needed == get("deadline-forecast").suggest(situation()).needed
    assert "deadline-forecast decides" in stands_in.reason
