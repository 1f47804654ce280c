"""Inputs, logs and outputs in a directory that manager and agents share.

Layout: ``inputs/<sha256>``, ``experiments/<id>/<job>/<attempt>/{stdout,stderr,outputs/…}``.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO, BinaryIO, Final

from jqueuer.errors import NotFoundError, StorageFullError
from jqueuer.records import OutputFile

_CHUNK_BYTES: Final = 1 << 20
_NO_SUCH_FILE: Final = frozenset({errno.ENOENT, errno.EISDIR, errno.ENOTDIR, errno.ENAMETOOLONG})
_FULL: Final = frozenset({errno.ENOSPC, errno.EDQUOT})


class DirectoryArtifacts:
    """The :class:`~jqueuer.ports.Artifacts` in a directory."""

    def __init__(self, directory: Path) -> None:
        self._root = directory.resolve()
        self._inputs = self._root / "inputs"
        self._experiments = self._root / "experiments"

    def put_input(self, sha256: str, stream: BinaryIO) -> int:
        """Keep a file under its checksum; :class:`ValueError` if the content does not match it."""
        with _arriving(stream, self._inputs) as (part, digest, size):
            if digest != sha256:
                raise ValueError(f"the content's SHA-256 is {digest}, not {sha256}")
            with part.open("rb") as file:
                os.fsync(file.fileno())
            part.replace(self._inputs / sha256)
        return size

    def has_input(self, sha256: str) -> bool:
        """Whether the file is here; who asks is about to rely on it, so it counts as new again."""
        try:
            os.utime(self._inputs / sha256)
        except FileNotFoundError:
            return False
        return True

    def delete_inputs(self, before: float) -> int:
        """Remove inputs that nobody sent or asked for since a moment; how many."""
        old = [path for path in self._inputs.glob("*") if path.stat().st_mtime < before]
        for path in old:
            path.unlink(missing_ok=True)
        return len(old)

    def open_input(self, sha256: str) -> BinaryIO:
        """An input's content."""
        try:
            return (self._inputs / sha256).open("rb")
        except FileNotFoundError:
            raise NotFoundError(f"the input with SHA-256 {sha256} was never sent") from None

    def fetch_input(self, sha256: str, destination: Path) -> None:
        """Copy an input to a path; a copy, so that a job may change it."""
        with self.open_input(sha256) as source:
            _copy(source, destination)
        destination.chmod(0o755)

    def write_log(self, experiment_id: str, job_id: str, attempt: int, stream: str, start: int, data: bytes) -> None:
        """Keep bytes of a captured stream from a position on."""
        path = self._attempt(experiment_id, job_id, attempt) / stream
        with _room():
            path.parent.mkdir(parents=True, exist_ok=True)
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o644)
            with open(descriptor, "wb") as file:
                file.seek(start)
                file.write(data)

    def read_log(
        self, experiment_id: str, job_id: str, attempt: int, stream: str, start: int, length: int
    ) -> tuple[bytes, int]:
        """Bytes of a captured stream, and its size."""
        try:
            with (self._attempt(experiment_id, job_id, attempt) / stream).open("rb") as file:
                size = os.fstat(file.fileno()).st_size
                file.seek(min(start, size))
                return file.read(length), size
        except FileNotFoundError:
            return b"", 0

    def put_output(self, experiment_id: str, job_id: str, attempt: int, path: str, source: Path) -> OutputFile:
        """Keep an output; the source is moved, or copied where a link leads to it."""
        destination = self._output(experiment_id, job_id, attempt, path)
        if source.resolve() != source:  # by way of a link: the file itself may be an output as well
            with source.open("rb") as file:
                return self.receive_output(experiment_id, job_id, attempt, path, file)
        with _room(destination):
            destination.parent.mkdir(parents=True, exist_ok=True)
            shutil.move(source, destination)
        with destination.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256")
            return OutputFile(path=path, size_bytes=file.tell(), sha256=digest.hexdigest())

    def receive_output(self, experiment_id: str, job_id: str, attempt: int, path: str, stream: BinaryIO) -> OutputFile:
        """Keep an output that comes as a stream; of one that breaks off nothing is kept."""
        destination = self._output(experiment_id, job_id, attempt, path)
        with _arriving(stream, self._attempt(experiment_id, job_id, attempt)) as (part, digest, size):
            destination.parent.mkdir(parents=True, exist_ok=True)
            part.chmod(0o644)
            part.replace(destination)
        return OutputFile(path=path, size_bytes=size, sha256=digest)

    def fetch_output(self, experiment_id: str, job_id: str, attempt: int, path: str, destination: Path) -> None:
        """Copy an output to a path."""
        with self.open_output(experiment_id, job_id, attempt, path) as source:
            _copy(source, destination)

    def open_output(self, experiment_id: str, job_id: str, attempt: int, path: str) -> BinaryIO:
        """An output's content."""
        try:
            return self._output(experiment_id, job_id, attempt, path).open("rb")
        except OSError as error:
            if error.errno not in _NO_SUCH_FILE:
                raise
            raise NotFoundError(f"job {job_id!r}, attempt {attempt}, has no output {path!r}") from None

    def delete(self, experiment_id: str) -> None:
        """Remove logs and outputs of an experiment."""
        shutil.rmtree(self._inside(self._experiments, experiment_id), ignore_errors=True)

    def _attempt(self, experiment_id: str, job_id: str, attempt: int) -> Path:
        return self._inside(self._experiments, f"{experiment_id}/{job_id}/{attempt}")

    def _output(self, experiment_id: str, job_id: str, attempt: int, path: str) -> Path:
        return self._inside(self._attempt(experiment_id, job_id, attempt) / "outputs", path)

    @staticmethod
    def _inside(root: Path, relative: str) -> Path:
        path = Path(os.path.normpath(root / relative))
        if path == root or not path.is_relative_to(root):
            raise NotFoundError(f"{relative!r} is not a path inside its directory")
        return path


@contextlib.contextmanager
def _arriving(stream: BinaryIO, directory: Path) -> Iterator[tuple[Path, str, int]]:
    """A stream's content in a temporary file, its SHA-256 and size; whoever wants to keep the file renames it."""
    digest, size = hashlib.sha256(), 0
    with _room(), _part_file(directory) as file:
        part = Path(file.name)
        try:
            while chunk := stream.read(_CHUNK_BYTES):
                digest.update(chunk)
                size += len(chunk)
                file.write(chunk)
            file.flush()
            yield part, digest.hexdigest(), size
        finally:
            part.unlink(missing_ok=True)


def _part_file(directory: Path) -> IO[bytes]:
    directory.mkdir(parents=True, exist_ok=True)
    return tempfile.NamedTemporaryFile(dir=directory, prefix=".part-", delete=False)


@contextlib.contextmanager
def _room(unfinished: Path | None = None) -> Iterator[None]:
    """Say it plainly where the disk is full; what was half written by then is of no use to anybody."""
    try:
        yield
    except OSError as error:
        if error.errno not in _FULL:
            raise
        if unfinished is not None:
            unfinished.unlink(missing_ok=True)
        raise StorageFullError(
            f"there is no room left on the disk that keeps inputs, logs and outputs ({error.strerror})"
        ) from error


def _copy(source: BinaryIO, destination: Path) -> None:
    destination.parent.mkdir(parents=True, exist_ok=True)
    with destination.open("wb") as target:
        shutil.copyfileobj(source, target, _CHUNK_BYTES)
