"""Whose turn it is: requests of one kind wait in order, and those that ask the same wait together."""

from __future__ import annotations

import threading
from collections import Counter, OrderedDict
from collections.abc import Hashable

from jqueuer_manager.shared_answers import SharedAnswer


class Turn:
    """What a request waits for: the turn itself, or the answer of another that asks the same."""

    def __init__(self) -> None:
        self.come = threading.Event()
        """Set once the request may go on."""
        self.answer: SharedAnswer | None = None
        """Given by whoever had the turn for both; then this request has none, and ends none."""
        self.others: list[Turn] = []
        """Once it has come: they wait for what this request finds out."""

    def give(self, answer: SharedAnswer | None = None) -> None:
        """Let the request go on."""
        self.answer = answer
        self.come.set()


class Room:
    """The open requests of one kind: so many are worked on at once. Used under one lock."""

    def __init__(self, at_once: int) -> None:
        self._idle = at_once
        self._waiting: OrderedDict[Hashable, list[Turn]] = OrderedDict()
        """By what they ask, in the order of who asked first."""
        self.open = 0
        self.open_from: Counter[str] = Counter()
        """By the address, where that matters."""

    def enter(self, address: str, question: Hashable | None = None) -> Turn | None:
        """Come in; the turn to wait for, if it has not come at once. Who asks nothing in particular asks it alone."""
        self.open += 1
        self.open_from[address] += 1
        if self._idle:
            self._idle -= 1
            return None
        turn = Turn()
        self._waiting.setdefault(turn if question is None else question, []).append(turn)
        return turn

    def end_turn(self) -> None:
        """The work is done; who waited longest takes over, for all who ask the same."""
        self._idle += 1
        self._go_on()

    def wait_again(self, turns: list[Turn]) -> None:
        """What was found out was for one alone: the others come next, each in a turn of its own."""
        for turn in reversed(turns):
            self._waiting[turn] = [turn]
            self._waiting.move_to_end(turn, last=False)
        self._go_on()

    def _go_on(self) -> None:
        while self._idle and self._waiting:
            self._idle -= 1
            _, (first, *others) = self._waiting.popitem(last=False)
            first.others = others
            first.give()

    def leave(self, address: str) -> None:
        """Go, after the turn."""
        self.open -= 1
        self.open_from[address] -= 1
        if not self.open_from[address]:
            del self.open_from[address]
