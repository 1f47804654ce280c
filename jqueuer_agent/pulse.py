"""A sign of life for whoever watches the agent's container: the time stamp of a file."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Final

FILE_NAME: Final = "agent.alive"

_EVERY_SECONDS: Final = 1.0


class Pulse:
    """Called at every look at the containers; touches the file about once a second."""

    def __init__(self, directory: Path) -> None:
        self._path = directory / FILE_NAME
        self._not_before = 0.0
        self.before = self._path.stat().st_mtime if self._path.exists() else 0.0
        """The last beat of an earlier agent, in seconds since the epoch; 0 where there was none."""

    def __call__(self) -> None:
        """One beat."""
        if time.monotonic() >= self._not_before:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._path.touch()
            self._not_before = time.monotonic() + _EVERY_SECONDS
