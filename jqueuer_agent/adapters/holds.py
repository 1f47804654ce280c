"""Which agent of a node cares for which container: at an update the old one may still finish jobs beside the new one.

A hold is a lock on a file, so it ends with the process that has it, however that ends. Agents that follow each other
must share the directory.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterable
from pathlib import Path


class Holds:
    """The holds of one agent, by container."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._files: dict[str, int] = {}

    def take(self, container_id: str) -> bool:
        """Hold a container; False where another agent does."""
        self._directory.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(self._directory / container_id, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            return False
        self._files[container_id] = descriptor
        return True

    def drop(self, container_id: str) -> None:
        """Another agent may have it now."""
        if (descriptor := self._files.pop(container_id, None)) is not None:
            os.close(descriptor)

    def forget(self, container_id: str) -> None:
        """The container is gone."""
        (self._directory / container_id).unlink(missing_ok=True)
        self.drop(container_id)

    def tidy(self, existing: Iterable[str]) -> None:
        """Remove what agents that died left behind of containers that are gone."""
        if self._directory.is_dir():
            for name in {path.name for path in self._directory.iterdir()} - set(existing):
                self.forget(name)
