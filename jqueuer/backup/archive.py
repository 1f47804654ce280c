"""The archive: a tar.gz, written and read as a stream, with a checksum over all of it.

Its members, in this order::

    jqueuer-backup.json            what it is, of which versions, from when
    store/00000001.jsonl …         entries of the store, a line each            } in any order among themselves
    experiments/<id>/<job>/<attempt>/…, inputs/<sha256>   files                 }
    end.json                       what is complete, how many members, the checksum

Only files: no links, no absolute paths, none that leads upwards.
"""

from __future__ import annotations

import contextlib
import gzip
import hashlib
import io
import json
import os
import re
import tarfile
import time
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, BinaryIO, Final

from jqueuer import __version__
from jqueuer.errors import BackupError

FORMAT: Final = "jqueuer-backup"
FORMAT_VERSION: Final = 1
HEADER: Final = f"{FORMAT}.json"
END: Final = "end.json"
STORE: Final = re.compile(r"store/[0-9]{8}\.jsonl")

_INPUT: Final = re.compile(r"inputs/[0-9a-f]{64}")
_EXPERIMENT_ID: Final = re.compile(r"[a-z0-9][a-z0-9-]{0,62}")
_PLAIN: Final = (tarfile.REGTYPE, tarfile.AREGTYPE)
_CHUNK_BYTES: Final = 1 << 20
_LINES_BYTES: Final = 1 << 20
_SHORTEST_FILE_PATH: Final = 5
"""``experiments``, the experiment, its job, the attempt, the file."""


class ArchiveWriter:
    """Writes one archive into a stream, which need not be able to seek."""

    def __init__(self, stream: BinaryIO, store_version: int) -> None:
        self._gzip = gzip.GzipFile(fileobj=stream, mode="wb", compresslevel=6)
        self._tar = tarfile.open(fileobj=self._gzip, mode="w|", format=tarfile.PAX_FORMAT)  # noqa: SIM115 - finish closes it
        self._digest = hashlib.sha256()
        self._members = self._store_members = 0
        self._lines, self._lines_bytes = list[bytes](), 0
        header = {
            "format": FORMAT,
            "format_version": FORMAT_VERSION,
            "store_version": store_version,
            "created_at": round(time.time(), 3),
            "jqueuer": __version__,
        }
        self._add(HEADER, json.dumps(header, indent=2).encode())

    def add_line(self, document: dict[str, Any]) -> None:
        """An entry of the store."""
        line = json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"
        self._lines.append(line)
        self._lines_bytes += len(line)
        if self._lines_bytes >= _LINES_BYTES:
            self._flush_lines()

    def add_file(self, name: str, path: Path) -> int | None:
        """A file as long as it is now; its size, or None where there is none any more."""
        try:
            descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
        except FileNotFoundError:
            return None
        with open(descriptor, "rb") as file:
            status = os.fstat(descriptor)
            self._write(name, status.st_size, status.st_mtime, file)
        return status.st_size

    def finish(self, experiments: list[str]) -> None:
        """Close the archive; ``experiments`` are those that are in it as a whole."""
        self._flush_lines()
        end = {"experiments": experiments, "members": self._members, "sha256": self._digest.hexdigest()}
        self._add(END, json.dumps(end).encode())
        self._tar.close()
        self._gzip.close()

    def _flush_lines(self) -> None:
        if self._lines:
            self._store_members += 1
            self._add(f"store/{self._store_members:08}.jsonl", b"".join(self._lines))
            self._lines, self._lines_bytes = [], 0

    def _add(self, name: str, content: bytes) -> None:
        self._write(name, len(content), time.time(), io.BytesIO(content))

    def _write(self, name: str, size: int, mtime: float, content: IO[bytes]) -> None:
        member = tarfile.TarInfo(name)
        member.size, member.mtime, member.mode = size, int(mtime), 0o600
        _begin(self._digest, name, size)
        self._tar.addfile(member, _Digesting(content, self._digest))
        self._tar.members.clear()  # type: ignore[attr-defined] # or it would remember them all
        self._members += 1


@dataclass(frozen=True, slots=True)
class Member:
    """One file of an archive; its content is read before the next member is asked for."""

    name: str
    size: int
    mtime: float
    content: IO[bytes]


@dataclass(frozen=True, slots=True)
class Contents:
    """What an archive says of itself."""

    store_version: int
    experiments: tuple[str, ...]
    """Those that are in it as a whole; of others there may be parts."""


class Archive:
    """An archive in a file; ``name`` is what it is called in messages."""

    def __init__(self, path: Path, name: str = "") -> None:
        self._path = path
        self.name = name or str(path)

    def verify(self, store_version: int) -> Contents:
        """Read all of it; :class:`~jqueuer.errors.BackupError` unless it is whole, and of no newer version."""
        digest, members, header, end = hashlib.sha256(), 0, None, None
        with self._explained():
            for member in self.members():
                if end is not None:
                    raise BackupError(f"{self.name} goes on after its end")
                if member.name == END:
                    end = json.load(member.content)
                    continue
                _begin(digest, member.name, member.size)
                content = _Digesting(member.content, digest)
                if header is None:
                    header = self._header(content.read() if member.name == HEADER else b"{}", store_version)
                while content.read(_CHUNK_BYTES):
                    pass
                members += 1
            if header is None or end is None:
                raise BackupError(f"{self.name} is incomplete: its end is missing; nothing was restored")
            if (end["members"], end["sha256"]) != (members, digest.hexdigest()):
                raise BackupError(f"{self.name} is damaged: its checksum is another; nothing was restored")
            for experiment_id in end["experiments"]:
                if not _EXPERIMENT_ID.fullmatch(experiment_id):
                    raise BackupError(f"{self.name} names an experiment {experiment_id!r}; nothing was restored")
            return Contents(int(header["store_version"]), tuple(end["experiments"]))

    def members(self) -> Iterator[Member]:
        """One after the other; :class:`BackupError` at one that no backup has."""
        with self._explained(), gzip.open(self._path) as plain, tarfile.open(fileobj=plain, mode="r|") as tar:
            while (found := tar.next()) is not None:
                tar.members.clear()  # type: ignore[attr-defined]
                self._check_name(found)
                content = tar.extractfile(found)
                assert content is not None  # noqa: S101 - it is a file
                yield Member(found.name, found.size, float(found.mtime), content)
            while plain.read(_CHUNK_BYTES):
                pass  # behind it gzip has its own checksum

    def _header(self, content: bytes, store_version: int) -> dict[str, Any]:
        header: dict[str, Any] = json.loads(content)
        if header.get("format") != FORMAT:
            raise BackupError(f"{self.name} is no backup of JQueuer")
        for what, said, known in (
            ("format", header["format_version"], FORMAT_VERSION),
            ("store", header["store_version"], store_version),
        ):
            if said > known:
                raise BackupError(
                    f"{self.name} was written by a newer JQueuer ({header.get('jqueuer')}: {what} version {said}, "
                    f"this one knows {known}): restore it with that one"
                )
        return header

    def _check_name(self, member: tarfile.TarInfo) -> None:
        parts = member.name.split("/")
        known = member.name in (HEADER, END) or any(kind.fullmatch(member.name) for kind in (STORE, _INPUT))
        if parts[0] == "experiments" and len(parts) >= _SHORTEST_FILE_PATH:
            known = not {"", ".", ".."}.intersection(parts)
        if not known or member.type not in _PLAIN:
            raise BackupError(f"{self.name} holds {member.name!r}, which no backup does; nothing was restored")

    @contextlib.contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except (EOFError, zlib.error, gzip.BadGzipFile, tarfile.TarError, ValueError, LookupError, TypeError) as error:
            raise BackupError(f"{self.name} is damaged, or no backup ({error}); nothing was restored") from None


class _Digesting:
    """A reader that adds what it reads to a digest."""

    def __init__(self, file: IO[bytes], digest: Any) -> None:
        self._file, self._digest = file, digest

    def read(self, size: int = -1) -> bytes:
        data = self._file.read(size)
        self._digest.update(data)
        return data


def _begin(digest: Any, name: str, size: int) -> None:
    digest.update(os.fsencode(name) + f"\0{size}\0".encode())
