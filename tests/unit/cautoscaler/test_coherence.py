from itertools import groupby

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cautoscaler import AT_ONCE, CODE_2018, PAPER, CoherenceIndex, CoherenceRule, Direction, advance

REQUESTED = 5
suggestions = st.lists(st.integers(1, 9), max_size=40)


def acted(rule: CoherenceRule, suggested: list[int]) -> list[int | None]:
    """What each suggestion led to, the requested number never changing."""
    row, numbers = CoherenceIndex(), []
    for number in suggested:
        row, target = advance(row, rule, requested=REQUESTED, suggested=number)
        numbers.append(target)
    return numbers


@pytest.mark.parametrize("rule", [PAPER, CODE_2018, AT_ONCE])
@given(suggested=suggestions)
def test_it_acts_exactly_at_its_threshold(rule: CoherenceRule, suggested: list[int]) -> None:
    """In every unbroken row of one direction the act_at-th suggestion acts, and the row begins anew after it."""
    expected: list[int | None] = []
    for direction, group in groupby(suggested, key=lambda number: (number > REQUESTED) - (number < REQUESTED)):
        row = list(group)
        for start in range(0, len(row), rule.act_at):
            part = row[start : start + rule.act_at]
            complete = direction != 0 and len(part) == rule.act_at
            cautious = min(part) if direction > 0 else max(part)
            target = part[0] if rule.frozen_target else cautious
            expected += [None] * (len(part) - 1) + [target if complete else None]
    assert acted(rule, suggested) == expected


def test_the_paper_acts_at_three_on_the_most_cautious_number() -> None:
    assert acted(PAPER, [8, 7, 9]) == [None, None, 7]
    assert acted(PAPER, [2, 3, 1]) == [None, None, 3]


def test_the_code_acts_above_three_on_the_first_number() -> None:
    assert acted(CODE_2018, [8, 7, 9, 6]) == [None, None, None, 8]
    assert acted(CODE_2018, [2, 3, 1, 4]) == [None, None, None, 2]


@pytest.mark.parametrize("rule", [PAPER, CODE_2018])
@given(suggested=suggestions, last=st.integers(1, 9))
def test_an_opposite_suggestion_starts_over(rule: CoherenceRule, suggested: list[int], last: int) -> None:
    row = CoherenceIndex()
    for number in suggested:
        row, _ = advance(row, rule, requested=REQUESTED, suggested=number)
    opposite = {Direction.UP: 3, Direction.DOWN: 7}.get(row.direction, last)
    turned, target = advance(row, rule, requested=REQUESTED, suggested=opposite)
    assert target is None
    assert turned.index == (0 if opposite == REQUESTED else 1)
    assert turned.target == (0 if opposite == REQUESTED else opposite)


@pytest.mark.parametrize("rule", [PAPER, CODE_2018])
def test_the_requested_number_itself_ends_a_row(rule: CoherenceRule) -> None:
    assert acted(rule, [7, 7, REQUESTED, 7, 7]) == [None] * 5
