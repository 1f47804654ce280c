"""When somebody is told that a deadline is at risk: once, and for a reason."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from jqueuer.notifying import UNTOLD, Risk, Verdict, judge
from jqueuer.notifying.risk import IN_A_ROW

SAFE = 0.975
"""Clearly, for the default confidence."""


def told(probabilities: list[float | None], *, confidence: float = 0.95, risk: Risk = UNTOLD) -> list[Verdict]:
    """What is done about these forecasts, one after the other."""
    verdicts = []
    for probability in probabilities:
        risk, verdict, _ = judge(
            risk, left_seconds=60, jobs_left=5, probability=probability, confidence=confidence, late_by_seconds=9.0
        )
        verdicts.append(verdict)
    return verdicts


def test_three_bad_forecasts_in_a_row_are_told_with_the_reason() -> None:
    risk = UNTOLD
    for _ in range(IN_A_ROW - 1):
        risk, verdict, reason = judge(risk, left_seconds=60, jobs_left=5, probability=0.4, confidence=0.95)
        assert (verdict, reason) == (Verdict.NOTHING, "")
    risk, verdict, reason = judge(
        risk, left_seconds=60, jobs_left=5, probability=0.415, confidence=0.95, late_by_seconds=312.04
    )
    assert verdict is Verdict.TELL
    assert reason == (
        "the deadline is kept with a probability of 41.5 %, and 95 % are wanted; "
        "the last job probably ends 312 s after it"
    )


def test_one_that_is_good_in_between_begins_the_count_anew() -> None:
    assert Verdict.TELL not in told([0.1, 0.1, 0.95, 0.1, 0.1, None, 0.96, 0.1, 0.1])


def test_looks_without_a_new_forecast_do_not_count() -> None:
    assert told([0.1, None, None, 0.1, None]) == [Verdict.NOTHING] * 5
    assert told([0.1, None, 0.1, None, 0.1])[-1] is Verdict.TELL


@given(st.lists(st.floats(0.0, SAFE - 1e-9), max_size=50))
def test_a_probability_that_trembles_is_told_once(probabilities: list[float]) -> None:
    assert told(probabilities).count(Verdict.TELL) <= 1
    assert told([0.1] * IN_A_ROW + probabilities).count(Verdict.TELL) == 1


def test_it_is_told_again_after_it_was_clearly_safe() -> None:
    verdicts = told([0.1] * IN_A_ROW + [SAFE] + [0.1] * IN_A_ROW)
    assert [verdict for verdict in verdicts if verdict is not Verdict.NOTHING] == [
        Verdict.TELL,
        Verdict.SAFE,
        Verdict.TELL,
    ]


def test_a_risk_that_another_manager_told_is_forgotten_and_the_next_one_told() -> None:
    assert told([SAFE] + [0.1] * IN_A_ROW, risk=Risk(told=True)) == [
        Verdict.SAFE,
        *[Verdict.NOTHING] * (IN_A_ROW - 1),
        Verdict.TELL,
    ]


@given(
    st.lists(st.none() | st.floats(0, 1), max_size=60),
    st.floats(0.5, 0.999),
    st.booleans(),
)
def test_it_is_told_and_safe_by_turns(probabilities: list[float | None], confidence: float, before: bool) -> None:
    verdicts = told(probabilities, confidence=confidence, risk=Risk(told=before))
    said = [verdict for verdict in verdicts if verdict is not Verdict.NOTHING]
    first = Verdict.SAFE if before else Verdict.TELL
    assert said[::2] == [first] * len(said[::2])
    assert first not in said[1::2]


@given(st.booleans(), st.integers(0, 2), st.none() | st.floats(0, 1))
def test_a_deadline_that_passes_with_jobs_left_is_told_unless_it_was_told_before(
    before: bool, doubted: int, probability: float | None
) -> None:
    risk, verdict, reason = judge(
        Risk(before, doubted), left_seconds=-0.1, jobs_left=1, probability=probability, confidence=0.95
    )
    assert verdict is (Verdict.NOTHING if before else Verdict.TELL)
    assert reason == ("" if before else "the deadline has passed with 1 job left")
    again, verdict, _ = judge(risk, left_seconds=-9, jobs_left=1, probability=probability, confidence=0.95)
    assert (again, verdict) == (risk, Verdict.NOTHING)


@given(st.builds(Risk, st.booleans(), st.integers(0, 3)), st.floats(-100, 100), st.none() | st.floats(0, 1))
def test_without_jobs_left_there_is_no_risk(risk: Risk, left_seconds: float, probability: float | None) -> None:
    found = judge(risk, left_seconds=left_seconds, jobs_left=0, probability=probability, confidence=0.9)
    assert found == (Risk(risk.told, 0), Verdict.NOTHING, "")
