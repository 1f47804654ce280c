"""Whose turn it is: so many at once, in order, and nobody is forgotten."""

from __future__ import annotations

from collections import Counter

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from jqueuer_manager.shared_answers import SharedAnswer
from jqueuer_manager.turns import Room, Turn

AT_ONCE = 2
ANSWER = SharedAnswer("200 OK", [], b"")


class Asked:
    """A request as the room knows it."""

    def __init__(self, question: str | None, turn: Turn | None) -> None:
        self.question, self.turn = question, turn

    @property
    def has_turn(self) -> bool:
        return self.turn is None or (self.turn.come.is_set() and self.turn.answer is None)


class Rooms(RuleBasedStateMachine):
    """Requests come, end their turns alone or for all who ask the same, and go."""

    def __init__(self) -> None:
        super().__init__()
        self.room = Room(AT_ONCE)
        self.inside: list[Asked] = []
        """In the order in which they came."""

    def at_work(self) -> list[Asked]:
        return [one for one in self.inside if one.has_turn]

    def waiting(self) -> list[Asked]:
        told = {id(other) for one in self.at_work() if one.turn is not None for other in one.turn.others}
        return [one for one in self.inside if not one.has_turn and id(one.turn) not in told]

    @rule(question=st.sampled_from(["a", "b", "c", None]))
    def come(self, question: str | None) -> None:
        self.inside.append(Asked(question, self.room.enter("here", question)))

    @precondition(lambda self: self.at_work())
    @rule(data=st.data(), for_all=st.booleans())
    def end(self, data: st.DataObject, for_all: bool) -> None:
        one = data.draw(st.sampled_from(self.at_work()))
        others = [] if one.turn is None else one.turn.others
        gone = [one]
        if for_all:
            for other in others:
                other.give(ANSWER)
            gone += [asked for asked in self.inside if asked.turn in others]
        elif others:
            self.room.wait_again(others)
        self.room.end_turn()
        for asked in gone:
            self.inside.remove(asked)
            self.room.leave("here")

    @invariant()
    def as_many_are_worked_on_as_may_be(self) -> None:
        assert len(self.at_work()) <= AT_ONCE
        assert len(self.at_work()) == AT_ONCE or not self.waiting()

    @invariant()
    def nobody_waits_with_somebody_who_asks_something_else(self) -> None:
        by_turn = {id(one.turn): one for one in self.inside if one.turn is not None}
        for one in self.at_work():
            for other in one.turn.others if one.turn is not None else ():
                assert one.question is not None
                assert by_turn[id(other)].question == one.question

    @invariant()
    def who_is_in_is_counted(self) -> None:
        assert self.room.open == len(self.inside)
        assert self.room.open_from == Counter({"here": len(self.inside)} if self.inside else {})

    def teardown(self) -> None:
        """Nobody is forgotten: when those at work end one after the other, all get their turn."""
        while self.inside:
            one, *_ = self.at_work()
            others = [] if one.turn is None else one.turn.others
            for other in others:
                other.give(ANSWER)
            self.room.end_turn()
            self.inside = [asked for asked in self.inside if asked is not one and asked.turn not in others]


TestRooms = Rooms.TestCase


def test_who_asks_something_else_comes_in_the_order_of_who_asked_first() -> None:
    room = Room(1)
    assert room.enter("here", "a") is None
    first, second, same = (turn for question in "bcb" if (turn := room.enter("here", question)) is not None)
    room.end_turn()
    assert (first.come.is_set(), first.others, second.come.is_set()) == (True, [same], False)
    room.wait_again(first.others)
    room.end_turn()
    assert (same.come.is_set(), second.come.is_set()) == (True, False)
    room.end_turn()
    assert second.come.is_set()
