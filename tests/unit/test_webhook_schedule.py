"""When a webhook that was not taken is sent again."""

from __future__ import annotations

import itertools

from hypothesis import given
from hypothesis import strategies as st

from jqueuer.notifying import GIVE_UP_SECONDS, next_try_at
from jqueuer.notifying.schedule import FIRST_SECONDS, LEAST_TRIES, LONGEST_SECONDS

ids = st.from_regex(r"msg_[0-9a-f]{24}", fullmatch=True)
BEGIN = 1_800_000_000.0


def tries_of(message_id: str, *, each_takes: float = 0.0) -> list[float]:
    """The seconds after which a message is tried whose receiver never takes it."""
    found, now = [0.0], BEGIN
    while True:
        moment = next_try_at(message_id, len(found), BEGIN, now + each_takes)
        if moment is None:
            return found
        now = moment
        found.append(now - BEGIN)


@given(ids, st.floats(0, 10))
def test_it_is_tried_for_a_day_ever_more_seldom_and_then_given_up(message_id: str, each_takes: float) -> None:
    tries = tries_of(message_id, each_takes=each_takes)
    pauses = [later - earlier - each_takes for earlier, later in itertools.pairwise(tries)]
    assert all(FIRST_SECONDS - 1e-3 <= pause <= LONGEST_SECONDS + 1e-3 for pause in pauses)
    assert all(later >= earlier - 1e-3 for earlier, later in itertools.pairwise(pauses))
    assert GIVE_UP_SECONDS - LONGEST_SECONDS - 10 < tries[-1] <= GIVE_UP_SECONDS
    assert 30 <= len(tries) <= 40


@given(ids, st.integers(1, 10_000))
def test_the_same_try_has_the_same_pause(message_id: str, tries: int) -> None:
    assert next_try_at(message_id, tries, BEGIN, BEGIN) == next_try_at(message_id, tries, BEGIN, BEGIN)


@given(st.sets(ids, min_size=20, max_size=20))
def test_messages_that_failed_together_are_not_tried_together(message_ids: set[str]) -> None:
    moments = {next_try_at(message_id, 4, BEGIN, BEGIN) for message_id in message_ids}
    assert len(moments) > 15


@given(ids)
def test_after_a_long_silence_of_ours_it_is_tried_ten_times_before_it_is_given_up(message_id: str) -> None:
    late = BEGIN + 3 * GIVE_UP_SECONDS
    for tries in range(1, LEAST_TRIES):
        assert (next_try_at(message_id, tries, BEGIN, late) or 0.0) >= late + FIRST_SECONDS
    assert next_try_at(message_id, LEAST_TRIES, BEGIN, late) is None


@given(ids)
def test_a_clock_that_was_set_back_does_no_harm(message_id: str) -> None:
    moment = next_try_at(message_id, 1, BEGIN, BEGIN - 500)
    assert moment is not None
    assert BEGIN - 500 < moment < BEGIN
