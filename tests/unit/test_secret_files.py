"""Secrets on disk are for their owner."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from jqueuer.secret_files import kept_secret


@pytest.fixture(autouse=True)
def _everything_allowed() -> Iterator[None]:
    """What the owner's umask would leave readable."""
    before = os.umask(0)
    yield
    os.umask(before)


def mode(file: Path) -> int:
    return stat.S_IMODE(file.stat().st_mode)


def test_a_secret_is_made_once(tmp_path: Path) -> None:
    made = iter(["first", "second"])
    file = tmp_path / "token"
    assert [kept_secret(file, make=lambda: next(made)) for _ in range(2)] == ["first", "first"]
    assert (mode(file), file.read_text()) == (0o600, "first\n")
    assert list(tmp_path.iterdir()) == [file]


def test_one_that_is_given_is_kept_in_its_place(tmp_path: Path) -> None:
    file = tmp_path / "token"
    kept_secret(file, make=lambda: "made")
    assert kept_secret(file, given="given", make=lambda: "again") == "given"
    assert kept_secret(file, make=lambda: "again") == "given"


def test_a_file_that_others_could_read_is_replaced_by_one_they_cannot(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text("known\n")
    file.chmod(0o644)
    with file.open() as held_open:
        assert kept_secret(file, make=lambda: "made") == "known"
        assert os.fstat(held_open.fileno()).st_ino != file.stat().st_ino
    assert mode(file) == 0o600
