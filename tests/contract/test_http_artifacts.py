"""What is particular to artifacts over HTTP: who is let in, limits, and a manager that is away."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import requests
from flask import Flask

from jqueuer.adapters.directory_artifacts import DirectoryArtifacts
from jqueuer.adapters.http_artifacts import HttpArtifacts
from jqueuer.adapters.redis_store.connection import StoreClient
from jqueuer.adapters.valkey import ValkeyServer
from jqueuer.errors import NotFoundError, RefusedError, StorageFullError, StoreUnavailableError
from tests.contract.agents_manager import LOG_LIMIT_BYTES, OUTPUT_LIMIT_BYTES, TOKEN, manager_app, served

App = Callable[[str], Flask]


@pytest.fixture
def keeper(tmp_path: Path) -> DirectoryArtifacts:
    return DirectoryArtifacts(tmp_path / "artifacts")


@pytest.fixture
def app(keeper: DirectoryArtifacts, client: StoreClient, valkey: ValkeyServer) -> App:
    return lambda token: manager_app(keeper, client, valkey.broker_url, token)


@pytest.fixture
def url(app: App) -> Iterator[str]:
    with served(app(TOKEN)) as address:
        yield address


@pytest.fixture
def over_http(url: str) -> Iterator[HttpArtifacts]:
    artifacts = HttpArtifacts(url, TOKEN)
    yield artifacts
    artifacts.close()


def files_in(directory: Path) -> list[Path]:
    return [path for path in directory.rglob("*") if path.is_file()]


def sockets_of(url: str) -> tuple[str, int]:
    host, _, port = url.removeprefix("http://").partition(":")
    return host, int(port)


def test_an_upload_that_breaks_off_leaves_nothing(url: str, tmp_path: Path, eventually: Callable[..., None]) -> None:
    with socket.create_connection(sockets_of(url)) as connection:
        connection.sendall(
            b"PUT /api/v1/agents/experiments/x/jobs/job/attempts/1/outputs?path=result HTTP/1.1\r\nHost: manager\r\n"
            b"Authorization: Bearer " + TOKEN.encode() + b"\r\nContent-Length: 1000000\r\n\r\n" + b"x" * 300_000
        )
        eventually(lambda: files_in(tmp_path / "artifacts"))
    eventually(lambda: not files_in(tmp_path / "artifacts"))


@pytest.mark.parametrize("size_bytes", [OUTPUT_LIMIT_BYTES + 1, 100_000_000])
def test_an_output_beyond_the_limit_is_refused_for_good(
    over_http: HttpArtifacts, tmp_path: Path, size_bytes: int
) -> None:
    with (tmp_path / "result").open("wb") as file:
        file.truncate(size_bytes)
    with pytest.raises(RefusedError):
        over_http.put_output("x", "job", 1, "result", tmp_path / "result")
    assert files_in(tmp_path / "artifacts") == []


@pytest.mark.parametrize(("start", "size_bytes"), [(0, LOG_LIMIT_BYTES + 1000), (2 * LOG_LIMIT_BYTES, 1)])
def test_a_log_beyond_the_limit_is_refused_for_good(over_http: HttpArtifacts, start: int, size_bytes: int) -> None:
    with pytest.raises(RefusedError):
        over_http.write_log("x", "job", 1, "stdout", start, b"." * size_bytes)


def test_nothing_is_kept_for_an_experiment_that_is_not_there(over_http: HttpArtifacts, tmp_path: Path) -> None:
    (tmp_path / "result").write_bytes(b"content")
    with pytest.raises(NotFoundError):
        over_http.write_log("gone", "job", 1, "stdout", 0, b"text")
    with pytest.raises(NotFoundError):
        over_http.put_output("gone", "job", 1, "result", tmp_path / "result")
    assert files_in(tmp_path / "artifacts") == []


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "limits"),
        ("GET", "inputs/" + "0" * 64),
        ("PUT", "experiments/x/jobs/job/attempts/1/logs/stdout?start=0"),
        ("PUT", "experiments/x/jobs/job/attempts/1/outputs?path=result"),
        ("GET", "experiments/x/jobs/job/attempts/1/outputs?path=result"),
    ],
)
def test_only_agents_are_let_in(app: App, tmp_path: Path, url: str, method: str, path: str) -> None:
    def status(address: str, **headers: str) -> int:
        return requests.request(
            method, f"{address}/api/v1/agents/{path}", headers=headers, data=b"text", timeout=10
        ).status_code

    assert status(url) == 401
    assert status(url, Authorization=f"Bearer {TOKEN}x") == 401
    assert status(url, Authorization=f"Basic {TOKEN}") == 401
    with served(app("")) as closed:
        assert status(closed) == 403
        assert status(closed, Authorization="Bearer ") == 403
        assert status(closed, Authorization=f"Bearer {TOKEN}") == 403
    assert files_in(tmp_path / "artifacts") == []
    assert status(url, Authorization=f"Bearer {TOKEN}") in {200, 204, 404}


def test_an_agent_with_a_wrong_token_waits_for_the_right_one(url: str, tmp_path: Path) -> None:
    """No job fails for it."""
    stranger = HttpArtifacts(url, "wrong")
    with pytest.raises(StoreUnavailableError, match="let this agent in"):
        stranger.write_log("x", "job", 1, "stdout", 0, b"text")
    with pytest.raises(StoreUnavailableError, match="let this agent in"):
        stranger.fetch_input("0" * 64, tmp_path / "program")
    stranger.close()


def test_a_manager_that_is_away_is_told_from_one_that_refuses(
    app: App, keeper: DirectoryArtifacts, tmp_path: Path
) -> None:
    """And the same agent goes on as soon as it is back."""
    with served(app(TOKEN)) as address:
        over_http = HttpArtifacts(address, TOKEN)
        over_http.write_log("x", "job", 1, "stdout", 0, b"before, ")
    (tmp_path / "result").write_bytes(b"content")
    for attempt in (
        lambda: over_http.write_log("x", "job", 1, "stdout", 8, b"after"),
        lambda: over_http.put_output("x", "job", 1, "result", tmp_path / "result"),
        lambda: over_http.fetch_input("0" * 64, tmp_path / "program"),
        lambda: over_http.fetch_output("x", "job", 1, "result", tmp_path / "copy"),
        over_http.max_output_bytes,
    ):
        with pytest.raises(StoreUnavailableError):
            attempt()
    with served(app(TOKEN), port=sockets_of(address)[1]):
        over_http.write_log("x", "job", 1, "stdout", 8, b"after")
        over_http.put_output("x", "job", 1, "result", tmp_path / "result")
    over_http.close()
    assert keeper.read_log("x", "job", 1, "stdout", 0, 99) == (b"before, after", 13)


def test_a_full_disk_of_the_manager_is_told_from_one_that_is_away(over_http: HttpArtifacts, tmp_path: Path) -> None:
    log = tmp_path / "artifacts" / "experiments" / "x" / "job" / "1" / "stdout"
    log.parent.mkdir(parents=True)
    log.symlink_to("/dev/full")
    with pytest.raises(StorageFullError, match="no room left on the disk"):
        over_http.write_log("x", "job", 1, "stdout", 0, b"text")
