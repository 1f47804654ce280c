"""Looking at processes, and ending them (Linux)."""

from __future__ import annotations

import os
import select
import signal
from collections.abc import Iterable
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Final

_GONE_SECONDS: Final = 10.0


def descendants(pid: int) -> list[int]:
    """All processes below this one."""
    found: list[int] = []
    for thread in Path(f"/proc/{pid}/task").glob("*/children"):
        with suppress(OSError):
            for child in map(int, thread.read_text().split()):
                found += [child, *descendants(child)]
    return found


def control_of(manager: int) -> list[int]:
    """The control process of a manager; none for the moment until a dead one has been replaced."""
    return [pid for pid in descendants(manager) if b"jqueuer_manager.control" in _command(pid)]


def _command(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def is_there(pid: int) -> bool:
    """Whether it runs; who has ended and waits for its parent does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def kill_and_see_gone(pids: Iterable[int], *, others: Iterable[int] = ()) -> None:
    """SIGKILL these, and wait until they and the others, who end by themselves then, run no more."""
    killed = tuple(pids)
    with ExitStack() as opened:
        ends = []
        for pid in {*killed, *others}:
            with suppress(ProcessLookupError):  # it came to its end by itself
                ends.append(os.pidfd_open(pid))
                opened.callback(os.close, ends[-1])
        for pid in killed:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        for end in ends:
            if not select.select([end], [], [], _GONE_SECONDS)[0]:
                raise TimeoutError(f"of {killed} and those below them not all were gone after {_GONE_SECONDS:g} s")
