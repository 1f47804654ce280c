"""How many jobs run on a node at once: a container manager takes a slot before it claims one.

A slot is a lock on a file, so it is given back with its process, however that ends. Agents that follow each other share
the directory, and so the slots.
"""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

_FIRST_PAUSE_SECONDS: Final = 0.01
_LONGEST_PAUSE_SECONDS: Final = 0.2


class Slots:
    """The slots of a node, as one container manager sees them; used by one thread at a time."""

    def __init__(self, directory: Path, count: int) -> None:
        self._directory = directory
        self._count = count
        self._next = os.getpid() % count  # so that not all try the same one first

    @contextmanager
    def taken(self, go_on: Callable[[], bool]) -> Iterator[bool]:
        """Hold a slot meanwhile, as soon as one is free; False, and none, where ``go_on`` says no before that."""
        descriptor = self._wait(go_on)
        try:
            yield descriptor is not None
        finally:
            if descriptor is not None:
                os.close(descriptor)

    def _wait(self, go_on: Callable[[], bool]) -> int | None:
        self._directory.mkdir(parents=True, exist_ok=True)
        pause_seconds = _FIRST_PAUSE_SECONDS
        while go_on():
            if (descriptor := self._try_all()) is not None:
                return descriptor
            time.sleep(pause_seconds)
            pause_seconds = min(_LONGEST_PAUSE_SECONDS, 2 * pause_seconds)
        return None

    def _try_all(self) -> int | None:
        for turn in range(self._count):
            number = (self._next + turn) % self._count
            descriptor = os.open(self._directory / str(number), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                os.close(descriptor)
            except BaseException:
                os.close(descriptor)
                raise
            else:
                self._next = number
                return descriptor
        return None
