"""Drawing while somebody else looks."""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator
from itertools import islice

import pytest

from jqueuer.cli.live import with_ticks

Wait = Callable[..., None]


def looking() -> bool:
    return any(thread.name == "looking" for thread in threading.enumerate())


def test_what_comes_comes_in_order_and_then_it_ends() -> None:
    assert [one for one in with_ticks(one for one in (1, 2, 3)) if one is not None] == [1, 2, 3]


def test_time_ticks_while_nothing_comes(eventually: Wait) -> None:
    go = threading.Event()

    def slow() -> Generator[str, None, None]:
        go.wait(20)
        yield "late"

    ticks = with_ticks(slow(), 0.001)
    assert list(islice(ticks, 3)) == [None, None, None]
    go.set()
    assert [one for one in ticks if one is not None] == ["late"]
    eventually(lambda: not looking())


def test_what_the_source_raises_is_raised_where_it_is_listened_to() -> None:
    def broken() -> Generator[int, None, None]:
        yield 1
        raise KeyError("broken")

    heard = with_ticks(broken(), 20.0)
    assert next(heard) == 1
    with pytest.raises(KeyError, match="broken"):
        next(heard)


def test_who_stops_listening_ends_the_source(eventually: Wait) -> None:
    closed = threading.Event()

    def endless() -> Generator[int, None, None]:
        try:
            while True:
                yield 1
        finally:
            closed.set()

    heard = with_ticks(endless(), 20.0)
    assert next(heard) == 1
    heard.close()  # type: ignore[attr-defined] # it is a generator
    eventually(closed.is_set)
    eventually(lambda: not looking())
