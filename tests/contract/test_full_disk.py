"""Where inputs, logs and outputs are kept there is no room left: it is said plainly, and nothing half is kept."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Iterator
from pathlib import Path

import pytest

from jqueuer.adapters.directory_artifacts import DirectoryArtifacts
from jqueuer.errors import StorageFullError
from jqueuer.ports import AgentArtifacts
from tests.contract.agents_manager import artifacts as artifacts
from tests.contract.agents_manager import keeper as keeper
from tests.disks import Disk, small_disk

LARGE = bytes(2 << 20)
WORDS = "no room left on the disk that keeps inputs, logs and outputs"


@pytest.fixture(autouse=True)
def disk(tmp_path: Path) -> Iterator[Disk]:
    with small_disk(tmp_path / "artifacts", 1 << 20) as disk:
        yield disk


def files_in(directory: Path) -> list[str]:
    return [path.name for path in directory.rglob("*") if path.is_file() and path.name != "filler"]


def test_an_output_is_refused_and_nothing_is_left_of_it(artifacts: AgentArtifacts, tmp_path: Path) -> None:
    source = tmp_path / "result"
    source.write_bytes(LARGE)
    with pytest.raises(StorageFullError, match=WORDS):
        artifacts.put_output("x", "job", 1, "result", source)
    assert files_in(tmp_path / "artifacts") == []


def test_with_room_again_the_same_is_taken(artifacts: AgentArtifacts, tmp_path: Path, disk: Disk) -> None:
    source = tmp_path / "result"
    source.write_bytes(b"small")
    disk.fill()
    with pytest.raises(StorageFullError, match=WORDS):
        artifacts.put_output("x", "job", 1, "result", source)
    assert source.read_bytes() == b"small"
    disk.make_room()
    assert artifacts.put_output("x", "job", 1, "result", source).size_bytes == 5


def test_a_log_is_refused(artifacts: AgentArtifacts, disk: Disk) -> None:
    disk.fill()
    with pytest.raises(StorageFullError, match=WORDS):
        artifacts.write_log("x", "job", 1, "stdout", 0, bytes(5000))


def test_an_input_is_refused_and_nothing_is_left_of_it(keeper: DirectoryArtifacts, tmp_path: Path) -> None:
    with pytest.raises(StorageFullError, match=WORDS):
        keeper.put_input(hashlib.sha256(LARGE).hexdigest(), io.BytesIO(LARGE))
    assert files_in(tmp_path / "artifacts") == []
