"""Bytes too large for records: inputs, logs, outputs."""

from __future__ import annotations

from pathlib import Path
from typing import BinaryIO, Protocol

from jqueuer.records import OutputFile


class AgentArtifacts(Protocol):
    """Bytes too large for records, as agents bring and fetch them: inputs, logs, outputs.

    Every method may raise :class:`~jqueuer.errors.StoreUnavailableError` and may then be called again with the same
    arguments; :class:`~jqueuer.errors.RefusedError` means that repeating it is of no use.
    """

    def fetch_input(self, sha256: str, destination: Path) -> None:
        """Copy an input to a path; :class:`~jqueuer.errors.NotFoundError` if nobody sent it."""

    def write_log(self, experiment_id: str, job_id: str, attempt: int, stream: str, start: int, data: bytes) -> None:
        """Keep bytes of a captured stream (``stdout`` or ``stderr``) from position ``start`` on.

        Writing the same bytes again changes nothing: who got no answer may repeat it.
        """

    def put_output(self, experiment_id: str, job_id: str, attempt: int, path: str, source: Path) -> OutputFile:
        """Keep an output; the source file may be moved away."""

    def fetch_output(self, experiment_id: str, job_id: str, attempt: int, path: str, destination: Path) -> None:
        """Copy an output to a path; :class:`~jqueuer.errors.NotFoundError` if there is none."""


class Artifacts(AgentArtifacts, Protocol):
    """The same where the bytes lie: what the manager does with them besides."""

    def put_input(self, sha256: str, stream: BinaryIO) -> int:
        """Keep a file under its checksum; :class:`ValueError` if the content does not match it. Returns its size."""

    def has_input(self, sha256: str) -> bool:
        """Whether the file is here already; who asks is about to rely on it, so it counts as new again."""

    def delete_inputs(self, before: float) -> int:
        """Remove inputs that nobody sent or asked for since a moment (seconds since the epoch); how many."""

    def open_input(self, sha256: str) -> BinaryIO:
        """An input's content; :class:`~jqueuer.errors.NotFoundError` if nobody sent it."""

    def read_log(
        self, experiment_id: str, job_id: str, attempt: int, stream: str, start: int, length: int
    ) -> tuple[bytes, int]:
        """Bytes of a captured stream from ``start``, and its size; empty where nothing was captured."""

    def receive_output(self, experiment_id: str, job_id: str, attempt: int, path: str, stream: BinaryIO) -> OutputFile:
        """As :meth:`put_output`, from a stream; of one that breaks off nothing is kept."""

    def open_output(self, experiment_id: str, job_id: str, attempt: int, path: str) -> BinaryIO:
        """An output's content; :class:`~jqueuer.errors.NotFoundError` if there is none."""

    def delete(self, experiment_id: str) -> None:
        """Remove logs and outputs of an experiment."""
