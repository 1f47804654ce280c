"""What every keeper of artifacts owes agents and manager; run against each adapter of the port."""

from __future__ import annotations

import hashlib
import io
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jqueuer.adapters.directory_artifacts import DirectoryArtifacts
from jqueuer.errors import NotFoundError
from jqueuer_agent.capture import INLINE_BYTES, LogCapture


@pytest.fixture
def artifacts(tmp_path: Path) -> DirectoryArtifacts:
    return DirectoryArtifacts(tmp_path / "artifacts")


def test_an_input_is_kept_under_its_checksum(artifacts: DirectoryArtifacts, tmp_path: Path) -> None:
    sha = hashlib.sha256(b"program").hexdigest()
    assert not artifacts.has_input(sha)
    assert artifacts.put_input(sha, io.BytesIO(b"program")) == 7
    assert artifacts.has_input(sha)
    artifacts.fetch_input(sha, tmp_path / "deep" / "program")
    assert (tmp_path / "deep" / "program").read_bytes() == b"program"


def test_a_job_that_changes_its_input_changes_only_its_copy(artifacts: DirectoryArtifacts, tmp_path: Path) -> None:
    sha = hashlib.sha256(b"program").hexdigest()
    artifacts.put_input(sha, io.BytesIO(b"program"))
    artifacts.fetch_input(sha, tmp_path / "one")
    (tmp_path / "one").write_bytes(b"changed")
    artifacts.fetch_input(sha, tmp_path / "two")
    assert (tmp_path / "two").read_bytes() == b"program"


def test_content_that_does_not_match_is_refused_and_leaves_nothing(artifacts: DirectoryArtifacts) -> None:
    sha = hashlib.sha256(b"program").hexdigest()
    with pytest.raises(ValueError, match="SHA-256"):
        artifacts.put_input(sha, io.BytesIO(b"something else"))
    assert not artifacts.has_input(sha)


def test_an_input_nobody_sent_is_not_found(artifacts: DirectoryArtifacts, tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match="never sent"):
        artifacts.fetch_input("0" * 64, tmp_path / "x")


def test_inputs_nobody_asked_for_since_a_moment_are_removed(artifacts: DirectoryArtifacts, tmp_path: Path) -> None:
    shas = {content: hashlib.sha256(content).hexdigest() for content in (b"old", b"needed again")}
    for content, sha in shas.items():
        artifacts.put_input(sha, io.BytesIO(content))
    for file in (tmp_path / "artifacts" / "inputs").iterdir():
        os.utime(file, (1000.0, 1000.0))
    assert artifacts.has_input(shas[b"needed again"])
    assert artifacts.delete_inputs(before=2000.0) == 1
    assert not artifacts.has_input(shas[b"old"])
    assert artifacts.has_input(shas[b"needed again"])


def test_logs_are_read_in_ranges(artifacts: DirectoryArtifacts) -> None:
    artifacts.write_log("x", "job", 1, "stdout", 0, b"hello ")
    artifacts.write_log("x", "job", 1, "stdout", 6, b"world")
    assert artifacts.read_log("x", "job", 1, "stdout", 6, 3) == (b"wor", 11)
    assert artifacts.read_log("x", "job", 1, "stdout", 99, 3) == (b"", 11)
    assert artifacts.read_log("x", "job", 1, "stderr", 0, 3) == (b"", 0)


def test_outputs_are_kept_with_size_and_checksum(artifacts: DirectoryArtifacts, tmp_path: Path) -> None:
    (tmp_path / "result.json").write_bytes(b"{}")
    output = artifacts.put_output("x", "job", 2, "deep/result.json", tmp_path / "result.json")
    assert (output.path, output.size_bytes, output.sha256) == (
        "deep/result.json",
        2,
        hashlib.sha256(b"{}").hexdigest(),
    )
    with artifacts.open_output("x", "job", 2, "deep/result.json") as file:
        assert file.read() == b"{}"


@pytest.mark.parametrize("path", ["../../../1/stdout", "/etc/passwd", "..", ".", "nothing"])
def test_no_path_leads_out_of_an_attempt(artifacts: DirectoryArtifacts, path: str) -> None:
    artifacts.write_log("x", "job", 1, "stdout", 0, b"secret")
    with pytest.raises(NotFoundError):
        artifacts.open_output("x", "job", 2, path)


def test_deleting_an_experiment_removes_only_its_own(artifacts: DirectoryArtifacts) -> None:
    for experiment in ("x", "y"):
        artifacts.write_log(experiment, "job", 1, "stdout", 0, b"text")
    artifacts.delete("x")
    assert artifacts.read_log("x", "job", 1, "stdout", 0, 9) == (b"", 0)
    assert artifacts.read_log("y", "job", 1, "stdout", 0, 9) == (b"text", 4)


@given(st.lists(st.binary(max_size=3000), max_size=30), st.integers(min_value=2048, max_value=20_000))
def test_a_captured_stream_keeps_its_beginning_and_its_end_within_its_limit(pieces: list[bytes], limit: int) -> None:
    import base64

    kept = bytearray()

    def keep(start: int, data: bytes) -> None:
        assert start == len(kept)
        kept.extend(data)

    capture = LogCapture(keep, limit)
    for number, piece in enumerate(pieces):
        capture.write(piece)
        if number % 7 == 3:
            capture.flush()
    record = capture.close()
    whole = b"".join(pieces)
    stored = base64.b64decode(record.inline) if record.inline else bytes(kept)
    assert record.total_bytes == len(whole)
    if len(whole) <= limit:
        assert stored == whole
        assert not record.truncated
    else:
        head, _, rest = stored.partition("\n[… ".encode())
        omitted, _, tail = rest.partition(" bytes left out …]\n".encode())
        assert record.truncated
        assert whole.startswith(head)
        assert whole.endswith(tail)
        assert len(head) + int(omitted) + len(tail) == len(whole)
        assert len(head) + len(tail) == limit
    assert record.inline is None or len(stored) <= INLINE_BYTES
