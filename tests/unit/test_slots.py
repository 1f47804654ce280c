"""The slots of a node: never more holders than there are slots, and none is lost with its holder."""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Callable
from multiprocessing.synchronize import Event
from pathlib import Path

import pytest

from jqueuer_agent.slots import Slots

CONTEXT = multiprocessing.get_context("spawn")


def hold(directory: Path, count: int, held: Event) -> None:
    with Slots(directory, count).taken(lambda: True):
        held.set()
        signal.pause()


def holder(directory: Path, count: int) -> tuple[multiprocessing.process.BaseProcess, Event]:
    held = CONTEXT.Event()
    process = CONTEXT.Process(target=hold, args=(directory, count, held))
    process.start()
    return process, held


def times(count: int) -> Callable[[], bool]:
    left = iter(range(count))
    return lambda: next(left, None) is not None


def test_no_more_slots_are_taken_than_there_are(tmp_path: Path) -> None:
    with Slots(tmp_path, 2).taken(times(1)) as first, Slots(tmp_path, 2).taken(times(1)) as second:
        assert (first, second) == (True, True)
        with Slots(tmp_path, 2).taken(times(3)) as third:
            assert third is False
    with Slots(tmp_path, 2).taken(times(1)) as again:
        assert again is True


def test_who_is_told_to_go_takes_none_even_if_one_is_free(tmp_path: Path) -> None:
    with Slots(tmp_path, 1).taken(lambda: False) as taken:
        assert taken is False


def test_a_slot_comes_back_when_its_work_breaks_off(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), Slots(tmp_path, 1).taken(lambda: True):
        raise ZeroDivisionError
    with Slots(tmp_path, 1).taken(times(1)) as taken:
        assert taken is True


def test_the_slot_of_a_process_that_is_killed_goes_to_one_that_waits(
    tmp_path: Path, eventually: Callable[..., None]
) -> None:
    first, first_held = holder(tmp_path, 1)
    second = first
    try:
        assert first_held.wait(60)
        second, second_held = holder(tmp_path, 1)
        assert not second_held.wait(1.0)
        assert first.pid is not None
        os.kill(first.pid, signal.SIGKILL)
        assert second_held.wait(60)
    finally:
        for process in (first, second):
            process.kill()
            process.join()
