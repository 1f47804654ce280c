"""What every keeper of artifacts owes agents and manager; run against each adapter of the ports.

Agents reach it in its directory or over HTTP, by way of a manager that keeps the same directory.
"""

from __future__ import annotations

import hashlib
import io
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from jqueuer.adapters.directory_artifacts import DirectoryArtifacts
from jqueuer.errors import NotFoundError, RefusedError
from jqueuer.ports import AgentArtifacts
from tests.contract.agents_manager import artifacts as artifacts
from tests.contract.agents_manager import keeper as keeper

PROGRAM = b"program"
SHA256 = hashlib.sha256(PROGRAM).hexdigest()


@pytest.fixture
def holding(tmp_path: Path) -> Callable[[bytes], Path]:
    """Makes a job's file of this content."""

    def make(content: bytes) -> Path:
        source = tmp_path.resolve() / "container" / "result"
        source.parent.mkdir(exist_ok=True)
        source.write_bytes(content)
        return source

    return make


def fetched(artifacts: AgentArtifacts, path: str, destination: Path, attempt: int = 1) -> bytes:
    artifacts.fetch_output("x", "job", attempt, path, destination)
    return destination.read_bytes()


def files_in(directory: Path) -> list[Path]:
    return [path for path in directory.rglob("*") if path.is_file()]


@pytest.mark.parametrize("content", [PROGRAM, b"", bytes(range(256)) * 20_000], ids=["small", "empty", "large"])
def test_an_input_arrives_as_it_was_sent(
    keeper: DirectoryArtifacts, artifacts: AgentArtifacts, tmp_path: Path, content: bytes
) -> None:
    sha256 = hashlib.sha256(content).hexdigest()
    keeper.put_input(sha256, io.BytesIO(content))
    destination = tmp_path / "deep" / "program"
    artifacts.fetch_input(sha256, destination)
    assert destination.read_bytes() == content
    assert os.access(destination, os.X_OK)


def test_a_job_that_changes_its_input_changes_only_its_copy(
    keeper: DirectoryArtifacts, artifacts: AgentArtifacts, tmp_path: Path
) -> None:
    keeper.put_input(SHA256, io.BytesIO(PROGRAM))
    artifacts.fetch_input(SHA256, tmp_path / "one")
    (tmp_path / "one").write_bytes(b"changed")
    artifacts.fetch_input(SHA256, tmp_path / "two")
    assert (tmp_path / "two").read_bytes() == PROGRAM


def test_an_input_that_nobody_sent_is_not_found(artifacts: AgentArtifacts, tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match="never sent"):
        artifacts.fetch_input("0" * 64, tmp_path / "program")
    assert not (tmp_path / "program").exists()


def test_logs_are_read_in_ranges(keeper: DirectoryArtifacts, artifacts: AgentArtifacts) -> None:
    artifacts.write_log("x", "job", 1, "stdout", 0, b"hello ")
    artifacts.write_log("x", "job", 1, "stdout", 6, b"world")
    assert keeper.read_log("x", "job", 1, "stdout", 6, 3) == (b"wor", 11)
    assert keeper.read_log("x", "job", 1, "stdout", 99, 3) == (b"", 11)
    assert keeper.read_log("x", "job", 1, "stderr", 0, 3) == (b"", 0)
    assert keeper.read_log("x", "job", 2, "stdout", 0, 3) == (b"", 0)


def test_a_log_that_is_written_again_is_no_longer_for_it(keeper: DirectoryArtifacts, artifacts: AgentArtifacts) -> None:
    """Who got no answer does not know how much of it was kept; what was written after it stays."""
    artifacts.write_log("x", "job", 1, "stdout", 0, b"hello ")
    artifacts.write_log("x", "job", 1, "stdout", 0, b"hello ")
    artifacts.write_log("x", "job", 1, "stdout", 6, b"world")
    artifacts.write_log("x", "job", 1, "stdout", 0, b"hello ")
    assert keeper.read_log("x", "job", 1, "stdout", 0, 99) == (b"hello world", 11)


@pytest.mark.parametrize("content", [b"{}", b"", bytes(range(256)) * 8000], ids=["small", "empty", "large"])
def test_outputs_are_kept_with_size_and_checksum(
    artifacts: AgentArtifacts, tmp_path: Path, holding: Callable[[bytes], Path], content: bytes
) -> None:
    output = artifacts.put_output("x", "job", 2, "deep/r\u00e9sult 1?&#%2e.json", holding(content))
    assert output.path == "deep/r\u00e9sult 1?&#%2e.json"
    assert (output.size_bytes, output.sha256) == (len(content), hashlib.sha256(content).hexdigest())
    assert fetched(artifacts, output.path, tmp_path / "deep" / "copy", attempt=2) == content


def test_an_output_may_be_brought_again(
    artifacts: AgentArtifacts, tmp_path: Path, holding: Callable[[bytes], Path]
) -> None:
    """By who got no answer; the last one stands."""
    artifacts.put_output("x", "job", 1, "result", holding(b"the longer one"))
    again = artifacts.put_output("x", "job", 1, "result", holding(b"shorter"))
    assert again.size_bytes == 7
    assert fetched(artifacts, "result", tmp_path / "copy") == b"shorter"


def test_an_output_by_way_of_a_link_leaves_what_the_link_leads_to(
    artifacts: AgentArtifacts, tmp_path: Path, holding: Callable[[bytes], Path]
) -> None:
    """The file itself may be an output as well."""
    source = holding(b"content")
    link = source.with_name("link")
    link.symlink_to(source)
    artifacts.put_output("x", "job", 1, "link", link)
    assert source.read_bytes() == b"content"
    artifacts.put_output("x", "job", 1, "result", source)
    assert fetched(artifacts, "link", tmp_path / "one") == b"content"
    assert fetched(artifacts, "result", tmp_path / "two") == b"content"


@pytest.mark.parametrize("path", ["../stolen", "..", "/etc/stolen", "../../../../../etc/stolen"])
def test_no_output_is_written_outside_of_its_attempt(
    artifacts: AgentArtifacts, tmp_path: Path, holding: Callable[[bytes], Path], path: str
) -> None:
    source = holding(b"content")
    with pytest.raises((NotFoundError, RefusedError)):
        artifacts.put_output("x", "job", 1, path, source)
    assert files_in(tmp_path / "artifacts") == []
    assert source.read_bytes() == b"content"


@pytest.mark.parametrize("path", ["../../../1/stdout", "../../1/stdout", "/etc/passwd", "..", ".", "nothing"])
def test_no_path_leads_out_of_an_attempt(artifacts: AgentArtifacts, tmp_path: Path, path: str) -> None:
    artifacts.write_log("x", "job", 1, "stdout", 0, b"secret")
    with pytest.raises(NotFoundError):
        artifacts.fetch_output("x", "job", 2, path, tmp_path / "copy")
    assert not (tmp_path / "copy").exists()


def test_an_input_is_kept_under_its_checksum(keeper: DirectoryArtifacts) -> None:
    assert not keeper.has_input(SHA256)
    assert keeper.put_input(SHA256, io.BytesIO(PROGRAM)) == len(PROGRAM)
    assert keeper.has_input(SHA256)
    with keeper.open_input(SHA256) as file:
        assert file.read() == PROGRAM


def test_content_that_does_not_match_is_refused_and_leaves_nothing(keeper: DirectoryArtifacts, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="SHA-256"):
        keeper.put_input(SHA256, io.BytesIO(b"something else"))
    assert not keeper.has_input(SHA256)
    assert files_in(tmp_path / "artifacts") == []


class _BreaksOff(io.RawIOBase):
    """A stream whose sender is gone after its first bytes."""

    def __init__(self) -> None:
        self._begun = False

    def read(self, size: int = -1) -> bytes:
        if self._begun:
            raise ConnectionResetError("the sender is gone")
        self._begun = True
        return PROGRAM[:3]


def test_a_stream_that_breaks_off_leaves_nothing(keeper: DirectoryArtifacts, tmp_path: Path) -> None:
    """An output that was there before stays as it was."""
    with pytest.raises(ConnectionResetError):
        keeper.put_input(SHA256, _BreaksOff())  # type: ignore[arg-type]  # it reads, and that is all that is asked
    with pytest.raises(ConnectionResetError):
        keeper.receive_output("x", "job", 1, "result", _BreaksOff())  # type: ignore[arg-type]  # as above
    assert files_in(tmp_path / "artifacts") == []
    keeper.receive_output("x", "job", 1, "result", io.BytesIO(b"complete"))
    with pytest.raises(ConnectionResetError):
        keeper.receive_output("x", "job", 1, "result", _BreaksOff())  # type: ignore[arg-type]  # as above
    assert [file.read_bytes() for file in files_in(tmp_path / "artifacts")] == [b"complete"]


def make_old(directory: Path) -> None:
    for file in directory.iterdir():
        os.utime(file, (1000.0, 1000.0))


def test_inputs_nobody_asked_for_since_a_moment_are_removed(keeper: DirectoryArtifacts, tmp_path: Path) -> None:
    keeper.put_input(SHA256, io.BytesIO(PROGRAM))
    make_old(tmp_path / "artifacts" / "inputs")
    newer = hashlib.sha256(b"newer").hexdigest()
    keeper.put_input(newer, io.BytesIO(b"newer"))
    assert keeper.delete_inputs(before=2000.0) == 1
    assert not keeper.has_input(SHA256)
    assert keeper.has_input(newer)


def test_an_input_asked_for_counts_as_new_again(keeper: DirectoryArtifacts, tmp_path: Path) -> None:
    keeper.put_input(SHA256, io.BytesIO(PROGRAM))
    make_old(tmp_path / "artifacts" / "inputs")
    assert keeper.has_input(SHA256)
    assert keeper.delete_inputs(before=2000.0) == 0
    assert keeper.has_input(SHA256)


def test_deleting_an_experiment_removes_only_its_own(keeper: DirectoryArtifacts) -> None:
    for experiment in ("x", "y"):
        keeper.write_log(experiment, "job", 1, "stdout", 0, b"text")
        keeper.receive_output(experiment, "job", 1, "result", io.BytesIO(b"content"))
    keeper.delete("x")
    assert keeper.read_log("x", "job", 1, "stdout", 0, 9) == (b"", 0)
    with pytest.raises(NotFoundError):
        keeper.open_output("x", "job", 1, "result")
    assert keeper.read_log("y", "job", 1, "stdout", 0, 9) == (b"text", 4)
    with keeper.open_output("y", "job", 1, "result") as file:
        assert file.read() == b"content"
