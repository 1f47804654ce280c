"""Child processes that do not outlive their parent."""

from __future__ import annotations

import contextlib
import ctypes
import os
import select
import signal
import sys
from collections.abc import Callable
from pathlib import Path

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_GONE_SECONDS = 10.0


def dying_with_parent(number: signal.Signals = signal.SIGTERM) -> Callable[[], None]:
    """A ``preexec_fn``: the kernel sends the child this signal when the thread that started it is gone.

    Linux only; elsewhere the child is ended by its parent's own clean-up.
    """
    parent = os.getpid()
    libc = ctypes.CDLL(None, use_errno=True) if sys.platform == "linux" else None

    def bind() -> None:
        if libc is not None:
            libc.prctl(_PR_SET_PDEATHSIG, number.value)
            if os.getppid() != parent:  # it died before the call
                os._exit(1)

    return bind


def adopt_orphans() -> None:
    """Make this process the parent of every descendant whose own parent ends, so that none escapes it (Linux)."""
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_CHILD_SUBREAPER, 1)


def end_descendants() -> int:
    """SIGKILL whatever this process still has as children, and theirs as they come up; how many there were."""
    ended = 0
    while children := _children():
        for pid in children:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        for pid in children:
            with contextlib.suppress(ChildProcessError):
                os.waitpid(pid, 0)
                ended += 1
    return ended


def _children() -> list[int]:
    try:
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:  # the usual case, found out by one system call
        return []
    found: list[int] = []
    for thread in Path("/proc/self/task").glob("*/children"):
        with contextlib.suppress(OSError):
            found += [int(pid) for pid in thread.read_text().split()]
    return found


def kill_marked(marker: str) -> int:
    """SIGKILL every process whose environment holds ``marker`` (``NAME=value``) and see it gone; how many (Linux)."""
    sought, killed = marker.encode(), list[int]()
    for environment in Path("/proc").glob("[0-9]*/environ"):
        with contextlib.suppress(OSError, ProcessLookupError):
            pid = int(environment.parent.name)
            if pid != os.getpid() and sought in environment.read_bytes().split(b"\0"):
                ended = os.pidfd_open(pid)
                os.kill(pid, signal.SIGKILL)
                killed.append(ended)
    for ended in killed:
        select.select([ended], [], [], _GONE_SECONDS)
        os.close(ended)
    return len(killed)
