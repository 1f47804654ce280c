"""Inputs, logs and outputs in a directory that manager and agents share.

Layout: ``inputs/<sha256>``, ``experiments/<id>/<job>/<attempt>/{stdout,stderr,outputs/…}``.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, Final

from jqueuer.errors import NotFoundError
from jqueuer.records import OutputFile

_CHUNK_BYTES: Final = 1 << 20


class DirectoryArtifacts:
    """The :class:`~jqueuer.ports.Artifacts` in a directory."""

    def __init__(self, directory: Path) -> None:
        self._root = directory.resolve()
        self._inputs = self._root / "inputs"
        self._experiments = self._root / "experiments"

    def put_input(self, sha256: str, stream: BinaryIO) -> int:
        """Keep a file under its checksum; :class:`ValueError` if the content does not match it."""
        self._inputs.mkdir(parents=True, exist_ok=True)
        digest, size = hashlib.sha256(), 0
        with tempfile.NamedTemporaryFile(dir=self._inputs, delete=False) as file:
            try:
                for chunk in _chunks(stream):
                    digest.update(chunk)
                    size += len(chunk)
                    file.write(chunk)
                if digest.hexdigest() != sha256:
                    raise ValueError(f"the content's SHA-256 is {digest.hexdigest()}, not {sha256}")
                file.flush()
                os.fsync(file.fileno())
                Path(file.name).replace(self._inputs / sha256)
            except BaseException:
                Path(file.name).unlink(missing_ok=True)
                raise
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

    def fetch_input(self, sha256: str, destination: Path) -> None:
        """Copy an input to a path; a copy, so that a job may change it."""
        source = self._inputs / sha256
        if not source.is_file():
            raise NotFoundError(f"the input with SHA-256 {sha256} was never sent")
        destination.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, destination)
        destination.chmod(0o755)

    def write_log(self, experiment_id: str, job_id: str, attempt: int, stream: str, start: int, data: bytes) -> None:
        """Keep bytes of a captured stream from a position on."""
        path = self._attempt(experiment_id, job_id, attempt) / stream
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
        destination.parent.mkdir(parents=True, exist_ok=True)
        if source.resolve() == source:
            shutil.move(source, destination)
        else:  # by way of a link: the file itself may be an output as well
            shutil.copyfile(source, destination)
        with destination.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256")
            return OutputFile(path=path, size_bytes=file.tell(), sha256=digest.hexdigest())

    def open_output(self, experiment_id: str, job_id: str, attempt: int, path: str) -> BinaryIO:
        """An output's content."""
        try:
            return self._output(experiment_id, job_id, attempt, path).open("rb")
        except (FileNotFoundError, IsADirectoryError, NotADirectoryError):
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


def _chunks(stream: BinaryIO) -> Iterator[bytes]:
    while chunk := stream.read(_CHUNK_BYTES):
        yield chunk
