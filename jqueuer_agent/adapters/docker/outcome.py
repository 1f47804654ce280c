"""How the end of a command in a container is told; pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from jqueuer.records import CommandResult
from jqueuer.units import format_size

NOT_FOUND: Final = 127
NOT_EXECUTABLE: Final = 126
UNENDING: Final = "it left processes behind that could not be ended, so its container was ended"

_FIRST_SIGNAL, _LAST_SIGNAL = 129, 192
_KILLED: Final = 9


def signal_of(status: int) -> int | None:
    """The signal that a status stands for, if it does.

    Shells and engines show a death by signal as 128 + signal; a program that exits with such a status of its own
    accord cannot be told apart.
    """
    return status - 128 if _FIRST_SIGNAL <= status <= _LAST_SIGNAL else None


def result(role: str, status: int, seconds: float, problem: str) -> CommandResult:
    """The result of a command that ended with a status."""
    signal = signal_of(status)
    return CommandResult(
        role=role,
        exit_code=status if signal is None else None,
        signal=signal,
        seconds=round(seconds, 6),
        problem=problem,
    )


def not_started(role: str, trouble: str, argv: Sequence[str], directory: str | None) -> CommandResult:
    """The result of a command that was not: W, no working directory; C, no such command; X, may not be executed."""
    if trouble == "W":
        return CommandResult(role=role, exit_code=NOT_FOUND, problem=f"there is no working directory {directory!r}")
    if trouble == "C":
        return CommandResult(role=role, exit_code=NOT_FOUND, problem=f"command not found: {argv[0]!r}")
    return CommandResult(role=role, exit_code=NOT_EXECUTABLE, problem=f"cannot run {argv[0]!r}: Permission denied")


def memory_problem(status: int, limit_bytes: Callable[[], int]) -> str:
    """The problem of a command that ended so while something in its container was killed for lack of memory."""
    if status == 0:
        return ""
    limit = limit_bytes()
    words = f" (limit {format_size(limit)})" if limit else ""
    if signal_of(status) == _KILLED:
        return f"killed for lack of memory{words}"
    return f"ended with status {status} after a process of it was killed for lack of memory{words}"
