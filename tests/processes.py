"""Looking at processes (Linux)."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path


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
