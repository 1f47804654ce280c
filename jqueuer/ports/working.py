"""What a container manager works with inside one container."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol

from jqueuer.model import Experiment
from jqueuer.records import CommandResult
from jqueuer.settings import Settings


class Workspace(Protocol):
    """The working directory of a container's jobs, emptied between them. Called by the container manager."""

    @property
    def directory(self) -> str:
        """Its path inside the container."""

    def clear(self) -> None:
        """Empty it."""

    def put(self, path: str, fetch: Callable[[Path], None]) -> None:
        """Lay a file into it, at the latest by :meth:`placed`; ``fetch`` writes the content to the path it is given."""

    def placed(self) -> None:
        """All that was put is in its place."""

    def find(self, patterns: Sequence[str]) -> list[Sequence[tuple[str, Path]]]:
        """For each glob the regular files inside it that match: path relative to it, and where to read it."""


class Executor(Protocol):
    """Runs commands inside one container, one at a time. Called by the container manager.

    :class:`~jqueuer.errors.ContainerGoneError` where the container died: the attempt has no outcome then.
    """

    @property
    def ended(self) -> bool:
        """Whether the container had to be ended, because a command could not be alone: nothing runs in it any more."""

    def run(
        self,
        argv: Sequence[str],
        *,
        environment: dict[str, str],
        working_directory: str | None,
        timeout_seconds: float | None,
        write: Callable[[str, bytes], None],
        keep_going: Callable[[], bool],
        role: str,
    ) -> CommandResult:
        """Run to the end, to the time-out, or until ``keep_going`` (asked at each heartbeat) says no.

        ``write`` takes ("stdout" | "stderr", bytes) as they come. Whatever way it ends, the whole process tree is gone.
        """


class Workplace(Protocol):
    """Where a container manager works; made in the agent's process, opened in the manager's."""

    def open(self, experiment: Experiment, settings: Settings) -> tuple[Executor, Workspace, dict[str, str]]:
        """How to run commands in the container, its files, and the environment all its commands begin with."""
