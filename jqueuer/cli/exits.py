"""How the command line ends: exit codes, and every error as words on stderr."""

from __future__ import annotations

from enum import IntEnum
from pathlib import Path
from typing import Any

import typer
from typer.core import TyperGroup

from jqueuer.cli.output import say
from jqueuer.client import ClientError
from jqueuer.errors import DescriptionError, Fault, JQueuerError, SettingsError

EXIT_CODES = (
    "Exit codes: 0 done, or the experiment is accomplished · 1 the experiment failed or was cancelled · "
    "2 wrong usage or description · 3 the manager did not answer or refused, or nothing could be started · "
    "4 accomplished after its deadline, with --strict-deadline · 5 not feasible: quote, submit --if-feasible · "
    "130 interrupted"
)


class Exit(IntEnum):
    """The exit codes."""

    OK = 0
    NOT_ACCOMPLISHED = 1
    WRONG = 2
    REFUSED = 3
    LATE = 4
    INFEASIBLE = 5
    INTERRUPTED = 130


class WrongFileError(JQueuerError):
    """A description that was read from a file has faults."""

    def __init__(self, file: Path, faults: tuple[Fault, ...]) -> None:
        self.file = file
        self.faults = faults
        super().__init__("; ".join(fault_lines(file, faults)))


class GuardedGroup(TyperGroup):
    """The commands, with every error the user can act on turned into words and an exit code."""

    def invoke(self, ctx: Any) -> Any:
        """Run the command."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            say("interrupted")
            raise typer.Exit(Exit.INTERRUPTED) from None
        except JQueuerError as error:
            raise typer.Exit(explain_error(error)) from None
        except OSError as error:
            say(f"{error.filename}: {error.strerror}" if error.filename else str(error))
            raise typer.Exit(Exit.REFUSED) from None


def explain_error(error: JQueuerError) -> Exit:
    """Say what was wrong, a line per fault; the exit code that goes with it."""
    if isinstance(error, WrongFileError):
        for line in fault_lines(error.file, error.faults):
            say(line)
        return Exit.WRONG
    if isinstance(error, DescriptionError | ClientError) and error.faults:
        for fault in error.faults:
            say(str(fault))
        return Exit.WRONG
    say(str(error))
    return Exit.WRONG if isinstance(error, SettingsError) else Exit.REFUSED


def fault_lines(file: Path, faults: tuple[Fault, ...]) -> list[str]:
    """``FILE:line: path: message`` per fault, as editors and compilers write it."""
    return [
        ": ".join(
            part
            for part in (str(file) if fault.line is None else f"{file}:{fault.line}", fault.path, fault.message)
            if part
        )
        for fault in faults
    ]


def exit_code(summary: dict[str, Any], *, strict_deadline: bool) -> Exit:
    """The exit code for how an experiment ended."""
    if summary["state"] != "accomplished":
        return Exit.NOT_ACCOMPLISHED
    if strict_deadline and summary["deadline_met"] is False:
        return Exit.LATE
    return Exit.OK
