"""The working directory of a local container."""

from __future__ import annotations

import glob
import os
import shutil
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

from jqueuer.model import IMAGE_OWN


class LocalWorkspace:
    """The :class:`~jqueuer.ports.Workspace` in a directory of this machine.

    ``working_directory`` is the description's: a relative one lies inside the container's own directory; an absolute
    one is the user's, so it is used as it is and never emptied.
    """

    def __init__(self, container_directory: Path, working_directory: str | None = None) -> None:
        if working_directory == IMAGE_OWN:
            working_directory = None
        self._path = container_directory / (working_directory or "")
        self._own = None if working_directory and os.path.isabs(working_directory) else container_directory
        if self._own is not None:
            self._path.mkdir(parents=True, exist_ok=True)

    @property
    def directory(self) -> str:
        """Its path."""
        return str(self._path)

    def clear(self) -> None:
        """Empty it."""
        if self._own is None:
            return
        if self._own.is_symlink() or not self._own.is_dir():  # a job may do anything to it
            self._own.unlink(missing_ok=True)
            self._own.mkdir(parents=True)
        with os.scandir(self._own) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    _remove(entry.path)
                else:
                    os.unlink(entry.path)
        self._path.mkdir(parents=True, exist_ok=True)

    def put(self, path: str, fetch: Callable[[Path], None]) -> None:
        """Lay a file into it."""
        destination = self._path / path
        destination.parent.mkdir(parents=True, exist_ok=True)
        fetch(destination)

    def placed(self) -> None:
        """It was, as it was put."""

    def find(self, patterns: Sequence[str]) -> list[Sequence[tuple[str, Path]]]:
        """For each glob the regular files inside it that match; links that lead out of it do not count."""
        return [match(self._path.resolve(), pattern) for pattern in patterns]


def _remove(directory: str) -> None:
    """Remove what a job left, even where it was nested deeper than Python goes, or locked."""
    try:
        shutil.rmtree(directory)
    except (OSError, RecursionError):
        for command in (("chmod", "-R", "u+rwX"), ("rm", "-rf")):
            subprocess.run([*command, "--", directory], stderr=subprocess.DEVNULL, check=False)


def match(root: Path, pattern: str) -> list[tuple[str, Path]]:
    """The regular files below a directory that match a glob; links that lead out of it do not count."""
    found = []
    try:
        names = sorted(glob.glob(pattern, root_dir=root, recursive=True, include_hidden=True))
    except RecursionError:
        raise OSError("directories are nested too deep") from None
    for name in names:
        try:
            path = (root / name).resolve()
        except RuntimeError:  # links that lead in circles
            continue
        if path.is_file() and path.is_relative_to(root):
            found.append((os.path.normpath(name), root / name))
    return found
