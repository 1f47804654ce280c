"""Room on the agent's side for files on their way: one directory per container, gone with whoever works for it."""

from __future__ import annotations

import fcntl
import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


class Scratch:
    """A directory that is this process's; it is locked as long as the process lives."""

    def __init__(self, directory: Path, lock: int) -> None:
        self._directory = directory
        self._lock = lock
        self._used = True

    @classmethod
    def take(cls, parent: Path, name: str) -> Scratch:
        """The directory of this name; those whose owners are dead are removed on the way."""
        parent.mkdir(parents=True, exist_ok=True)
        with _alone(parent):
            for other in parent.iterdir():
                lock = _lock(other)
                if lock is not None:
                    shutil.rmtree(other, ignore_errors=True)
                    os.close(lock)
            directory = parent / f"{name}-{secrets.token_hex(4)}"
            directory.mkdir()
            lock = _lock(directory)
            assert lock is not None  # noqa: S101 - nobody else knows of it
            return cls(directory, lock)

    def new(self) -> Path:
        """A path where nothing is."""
        self._used = True
        return self._directory / secrets.token_hex(8)

    def clear(self) -> None:
        """Empty it."""
        if self._used:
            for path in self._directory.iterdir():
                if path.is_dir() and not path.is_symlink():
                    shutil.rmtree(path, ignore_errors=True)
                else:
                    path.unlink(missing_ok=True)
            self._used = False


@contextmanager
def _alone(directory: Path) -> Iterator[None]:
    descriptor = os.open(directory, os.O_RDONLY | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _lock(path: Path) -> int | None:
    """The lock on a directory, held until the descriptor is closed; None where somebody has it, or nothing is there."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        return None
    return descriptor
