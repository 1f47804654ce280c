"""Disks that are soon full: file systems of a few megabytes in memory, for which it takes root."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.lab import available


def why_not() -> str | None:
    """The reason why none can be made here; None where they can."""
    if sys.platform != "linux" or os.geteuid() != 0:
        return "a small disk needs Linux and root: it is a file system of its own"
    return None


@contextmanager
def small_disk(directory: Path, size_bytes: int) -> Iterator[Disk]:
    """One mounted at the directory, while in this context; a test without the right to it is skipped."""
    available.require(why_not)
    directory.mkdir(parents=True, exist_ok=True)
    mount = ["mount", "-t", "tmpfs", "-o", f"size={size_bytes}", "tmpfs", str(directory)]
    tried = subprocess.run(mount, capture_output=True, text=True, check=False)
    if tried.returncode:
        available.require(lambda: f"a small disk needs the right to mount it: {tried.stderr.strip()}")
    try:
        yield Disk(directory)
    finally:
        subprocess.run(["umount", "--lazy", str(directory)], check=True)


class Disk:
    """A small file system."""

    def __init__(self, directory: Path) -> None:
        self._filler = directory / "filler"

    def fill(self) -> None:
        """Until nothing more can be written."""
        with self._filler.open("ab", buffering=0) as file:
            _until_refused(lambda: file.write(bytes(1 << 20)))
            _until_refused(lambda: file.write(bytes(512)))

    def make_room(self) -> None:
        """Take it all away again."""
        self._filler.unlink(missing_ok=True)


def _until_refused(write: Callable[[], int | None]) -> None:
    while True:
        try:
            write()
        except OSError:
            return
