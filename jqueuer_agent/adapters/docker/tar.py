"""Tar archives as the engine takes and gives them."""

from __future__ import annotations

import tarfile
import time
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final

_CHUNK_BYTES: Final = 1 << 18


def directories(paths: list[str], owner: tuple[int, int]) -> Iterator[bytes]:
    """An archive of empty directories."""
    for path in paths:
        entry = _entry(path, owner, 0o755)
        entry.type = tarfile.DIRTYPE
        yield entry.tobuf()
    yield _END


def files(sources: Mapping[str, Path], owner: tuple[int, int], parents: Iterable[str]) -> Iterator[bytes]:
    """An archive of files, by the paths they are to have, and of the directories on the way to them."""
    for parent in parents:
        entry = _entry(parent, owner, 0o755)
        entry.type = tarfile.DIRTYPE
        yield entry.tobuf()
    for path, source in sources.items():
        with source.open("rb") as opened:
            stat = source.stat()
            entry = _entry(path, owner, stat.st_mode & 0o777)
            entry.size = stat.st_size
            yield entry.tobuf()
            while data := opened.read(_CHUNK_BYTES):
                yield data
        yield bytes(-entry.size % tarfile.BLOCKSIZE)
    yield _END


def _entry(path: str, owner: tuple[int, int], mode: int) -> tarfile.TarInfo:
    entry = tarfile.TarInfo(path)
    entry.uid, entry.gid = owner
    entry.mode = mode
    entry.mtime = int(time.time())
    return entry


_END: Final = bytes(2 * tarfile.BLOCKSIZE)


class Reader:
    """Chunks as a file to read from."""

    def __init__(self, chunks: Iterator[bytes]) -> None:
        self._chunks = chunks
        self._rest = b""

    def read(self, size: int) -> bytes:
        """As many bytes, or fewer at the end."""
        parts, missing = [], size
        while missing > 0:
            if not self._rest:
                self._rest = next(self._chunks, b"")
                if not self._rest:
                    break
            part, self._rest = self._rest[:missing], self._rest[missing:]
            parts.append(part)
            missing -= len(part)
        return b"".join(parts)
