"""Outputs out of a container: what matches, copied to a place of the agent's.

The engine gives archives of whole paths, so what is asked for is only what lies below the part of a glob that has no
wildcard. The archive is read as it comes, and nothing is written but what matches. Links are made in the copy where
they stay inside, and what they lead to is fetched in turn. What counts in the end is what the copy's own glob finds.
"""

from __future__ import annotations

import functools
import os
import posixpath
import shutil
import tarfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, Final, cast

from jqueuer_agent.adapters.docker import globs
from jqueuer_agent.adapters.docker.engine import Engine
from jqueuer_agent.adapters.docker.tar import Reader
from jqueuer_agent.adapters.local_workspace import match

_COPY_BYTES: Final = 1 << 18


class Collection:
    """A copy of those files of a container's directory that match.

    Of more than ``limit_bytes`` only the sizes are copied: who looks at them will not keep the files.
    """

    def __init__(self, engine: Engine, directory: str, place: Path, limit_bytes: int) -> None:
        self._engine = engine
        self._directory = posixpath.normpath(directory)
        self._place = place.resolve()
        self._left_bytes = limit_bytes
        self._wanted: set[str] = set()
        self._links: dict[str, str] = {}

    def find(self, patterns: Sequence[str]) -> list[Sequence[tuple[str, Path]]]:
        """For each glob what matches: path relative to the directory, and the copy."""
        self._place.mkdir(parents=True, exist_ok=True)
        patterns = [posixpath.normpath(pattern) for pattern in patterns]
        new = set(patterns)
        while new:
            self._wanted |= new
            for path in globs.outermost(globs.literal_part(pattern) for pattern in new):
                self._fetch(path)
            new = set(self._beyond_links()) - self._wanted
        return [match(self._place, pattern) for pattern in patterns]

    def _beyond_links(self) -> Iterator[str]:
        """What is wanted by way of a link, without it."""
        for name, target in self._links.items():
            for pattern in self._wanted:
                for rest in globs.rests(pattern, name):
                    if rest or not (self._place / target).is_file():
                        yield posixpath.normpath(posixpath.join(target, rest))

    def _fetch(self, path: str) -> None:
        """Copy what is wanted at and below a path; of one that leads over a link, the link."""
        so_far = ""
        for part in path.split("/") if path != globs.ROOT else ():
            so_far = posixpath.join(so_far, part)
            stat = self._engine.path_stat(posixpath.join(self._directory, so_far))
            if stat is None:
                return
            if stat.link_target:
                self._link(so_far, stat.link_target)
                return
        try:
            chunks = self._engine.archive(posixpath.join(self._directory, so_far))
        except FileNotFoundError:
            return
        self._unpack(chunks, path)

    def _unpack(self, chunks: Iterator[bytes], path: str) -> None:
        second_names = []
        with tarfile.open(fileobj=cast("IO[bytes]", Reader(chunks)), mode="r|", bufsize=_COPY_BYTES) as archive:
            for entry in archive:
                below = entry.name.strip("/").partition("/")[2]
                name = posixpath.normpath(posixpath.join(path, below))
                if name.startswith(("/", "../")):
                    continue
                if entry.issym():
                    self._link(name, posixpath.join(self._directory, posixpath.dirname(name), entry.linkname))
                elif any(globs.matches(pattern, name) for pattern in self._wanted):
                    if entry.isreg():
                        self._write(name, entry.size, archive.extractfile(entry))
                    elif entry.islnk() and name != path:
                        second_names.append(name)
        for name in second_names:  # of files that may not be wanted; asked for by itself, each comes as a file
            self._fetch(name)

    def _write(self, name: str, size_bytes: int, source: IO[bytes] | None) -> None:
        path = self._at(name)
        if path is None or source is None or path.exists():
            return
        with path.open("wb") as file:
            if size_bytes <= self._left_bytes:
                shutil.copyfileobj(source, file, _COPY_BYTES)
            else:
                file.truncate(size_bytes)
        self._left_bytes -= size_bytes

    def _link(self, name: str, target: str) -> None:
        """Make a link that stays inside; ``target`` is a path of the container."""
        inside, path = self._inside(target), self._at(name)
        if inside is not None and path is not None and not os.path.lexists(path):
            path.symlink_to(os.path.relpath(self._place / inside, path.parent))
            self._links[name] = inside

    def _at(self, name: str) -> Path | None:
        """Where a file of this name is copied to; None where a link is in its way."""
        path = self._place / name
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError:
            return None
        return path if os.path.realpath(path.parent) == str(path.parent) and not path.is_symlink() else None

    def _inside(self, target: str) -> str | None:
        """A path of the container relative to the directory; None where it is outside."""
        for root in (self._directory, self._real_directory):
            relative = posixpath.relpath(posixpath.normpath(target), root)
            if relative != ".." and not relative.startswith("../"):
                return relative
        return None

    @functools.cached_property
    def _real_directory(self) -> str:
        """The directory by a path without links, as the engine gives targets."""
        real = "/"
        for part in self._directory.strip("/").split("/"):
            stat = self._engine.path_stat(posixpath.join(real, part))
            real = stat.link_target if stat and stat.link_target else posixpath.join(real, part)
        return real
