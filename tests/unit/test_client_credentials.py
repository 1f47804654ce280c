"""Where a client finds its token, and where it must not."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from jqueuer.client.credentials import Credentials, find_authorities, find_credentials
from jqueuer.errors import SettingsError

URL = "http://127.0.0.1:8081"
TOKEN = "jq_the-embedded-ones"


@pytest.fixture(autouse=True)
def _nothing_set(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("JQUEUER_TOKEN", "JQUEUER_TOKEN_FILE", "JQUEUER_STATE_DIR", "JQUEUER_CA_FILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)


def embedded(directory: Path, *, url: str = URL, pid: int | None = None) -> None:
    """What a system leaves in its state directory while it runs."""
    directory.mkdir()
    (directory / "token").write_text(f"{TOKEN}\n")
    (directory / "manager.json").write_text(json.dumps({"url": url, "pid": pid or os.getpid()}))


def test_without_anything_there_is_none() -> None:
    assert find_credentials(URL) == Credentials()


def test_the_variable_comes_before_the_file_and_that_before_the_embedded_systems(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    embedded(tmp_path / ".jqueuer")
    assert find_credentials(URL) == Credentials(TOKEN, "in .jqueuer/token")
    (tmp_path / "mine").write_text("  jq_of-the-file\n\n")
    monkeypatch.setenv("JQUEUER_TOKEN_FILE", "mine")
    assert find_credentials(URL) == Credentials("jq_of-the-file", "in mine (JQUEUER_TOKEN_FILE)")
    monkeypatch.setenv("JQUEUER_TOKEN", "jq_of-the-variable")
    assert find_credentials(URL) == Credentials("jq_of-the-variable", "in JQUEUER_TOKEN")
    monkeypatch.setenv("JQUEUER_TOKEN", "")
    assert find_credentials(URL).token == "jq_of-the-file"


@pytest.mark.parametrize("url", [URL, f"{URL}/", "http://localhost:8081", "http://[::1]:8081"])
def test_the_embedded_systems_token_is_for_its_own_url(
    url: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    embedded(tmp_path / "elsewhere")
    assert find_credentials(url).token == ""
    monkeypatch.setenv("JQUEUER_STATE_DIR", str(tmp_path / "elsewhere"))
    assert find_credentials(url).token == TOKEN


@pytest.mark.parametrize(
    "url", ["http://127.0.0.1:8082", "https://127.0.0.1:8081", "http://example.org:8081", "http://127.0.0.1"]
)
def test_it_is_sent_to_nobody_else(url: str, tmp_path: Path) -> None:
    embedded(tmp_path / ".jqueuer")
    assert find_credentials(url) == Credentials()


def test_it_is_not_sent_where_the_system_is_no_longer_up(tmp_path: Path) -> None:
    """Somebody else may listen on its port now."""
    ended = os.fork()
    if not ended:
        os._exit(0)
    os.waitpid(ended, 0)
    embedded(tmp_path / ".jqueuer", pid=ended)
    assert find_credentials(URL) == Credentials()


@pytest.mark.parametrize("content", ["", "[]", '{"url": 3}', '{"pid": "x", "url": "y"}'])
def test_an_announcement_that_is_none_is_no_error(content: str, tmp_path: Path) -> None:
    embedded(tmp_path / ".jqueuer")
    (tmp_path / ".jqueuer" / "manager.json").write_text(content)
    assert find_credentials(URL) == Credentials()


@pytest.mark.parametrize("token", [" ", "two words", "jq_x\ny", "jq_ü", "jq_\x00"])
def test_what_can_be_no_token_is_refused_and_not_repeated(
    token: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "mine").write_text(token)
    monkeypatch.setenv("JQUEUER_TOKEN_FILE", "mine")
    with pytest.raises(SettingsError, match=r"JQUEUER_TOKEN_FILE=mine: expected a token") as refused:
        find_credentials(URL)
    assert token.strip() == "" or token not in str(refused.value)


def test_a_file_that_cannot_be_read_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("JQUEUER_TOKEN_FILE", "nowhere")
    with pytest.raises(SettingsError, match=r"JQUEUER_TOKEN_FILE=nowhere: cannot be read: No such file"):
        find_credentials(URL)
    (tmp_path / "bytes").write_bytes(b"\xff\xfe")
    monkeypatch.setenv("JQUEUER_TOKEN_FILE", "bytes")
    with pytest.raises(SettingsError, match=r"JQUEUER_TOKEN_FILE=bytes: cannot be read"):
        find_credentials(URL)


def test_certificates_are_those_of_the_system_or_of_the_file_that_is_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert find_authorities() is True
    monkeypatch.setenv("JQUEUER_CA_FILE", "ca.pem")
    with pytest.raises(SettingsError, match=r"JQUEUER_CA_FILE=ca.pem: there is no such file"):
        find_authorities()
    (tmp_path / "ca.pem").touch()
    assert find_authorities() == "ca.pem"


def test_a_token_is_never_shown_with_its_credentials() -> None:
    assert TOKEN not in repr(Credentials(TOKEN, "in JQUEUER_TOKEN"))
