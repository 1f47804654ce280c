"""The engine's HTTP API, as far as containers need it.

Not by docker-py: its client takes five megabytes in each container manager, and cannot attach without losing bytes.
Paths carry no version: the engine then speaks its own, and what is asked for here is the same in all of them.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import socket
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final
from urllib.parse import urlencode, urlsplit

from jqueuer.errors import UnsupportedError

_CONNECT_SECONDS: Final = 30.0
_CHUNK_BYTES: Final = 1 << 18
_PLAIN_PORT: Final = 2375

Query = Mapping[str, str]


class EngineRefusedError(Exception):
    """The engine answers, and not with what was asked for."""

    def __init__(self, status: int, words: str) -> None:
        self.status = status
        self.words = words
        super().__init__(f"{words} ({status})")


def connect(url: str, timeout_seconds: float = _CONNECT_SECONDS) -> socket.socket:
    """A connection to the engine."""
    parts = urlsplit(url)
    if parts.scheme in ("unix", "http+unix"):
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_CLOEXEC)
        connection.settimeout(timeout_seconds)
        try:
            connection.connect(parts.netloc + parts.path)
        except BaseException:
            connection.close()
            raise
        return connection
    if parts.scheme in ("tcp", "http") and parts.hostname:
        connection = socket.create_connection((parts.hostname, parts.port or _PLAIN_PORT), timeout=timeout_seconds)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return connection
    raise UnsupportedError(f"JQUEUER_DOCKER_URL must begin with unix:// or tcp://, it is {url!r}")


class _Connection(http.client.HTTPConnection):
    def __init__(self, url: str, timeout_seconds: float) -> None:
        super().__init__("docker", timeout=timeout_seconds)
        self._url = url
        self._seconds = timeout_seconds

    def connect(self) -> None:
        self.sock = connect(self._url, self._seconds)


def ask(
    url: str, method: str, path: str, *, query: Query | None = None, body: Any = None, timeout_seconds: float
) -> Any:
    """Ask for something that is answered in JSON; None where the answer is empty."""
    with _Exchange(url, timeout_seconds) as exchange:
        answer = exchange.send(method, path, query, None if body is None else json.dumps(body).encode())
        text = answer.read()
    return json.loads(text) if text.strip() else None


def head(url: str, path: str, *, query: Query, timeout_seconds: float) -> http.client.HTTPMessage:
    """The headers of an answer."""
    with _Exchange(url, timeout_seconds) as exchange:
        return exchange.send("HEAD", path, query, None).headers


def upload(url: str, path: str, *, query: Query, chunks: Iterable[bytes], timeout_seconds: float) -> None:
    """Send a tar archive."""
    with _Exchange(url, timeout_seconds) as exchange:
        exchange.send("PUT", path, query, chunks).read()


def download(url: str, path: str, *, query: Query, timeout_seconds: float) -> Iterator[bytes]:
    """Open what is answered at once, and give it piece by piece."""
    exchange = _Exchange(url, timeout_seconds)
    try:
        answer = exchange.send("GET", path, query, None)
    except BaseException:
        exchange.close()
        raise
    return _pieces(exchange, answer)


def _pieces(exchange: _Exchange, answer: http.client.HTTPResponse) -> Iterator[bytes]:
    with exchange:
        while piece := answer.read(_CHUNK_BYTES):
            yield piece


class _Exchange:
    """One request on a connection of its own."""

    def __init__(self, url: str, timeout_seconds: float) -> None:
        self._connection = _Connection(url, timeout_seconds)

    def send(
        self, method: str, path: str, query: Query | None, body: bytes | Iterable[bytes] | None
    ) -> http.client.HTTPResponse:
        target = f"{path}?{urlencode(query)}" if query else path
        kind = "application/json" if isinstance(body, bytes) or body is None else "application/x-tar"
        headers, chunked = {"Content-Type": kind}, not isinstance(body, bytes)
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):  # refused half-way: the answer says why
            self._connection.request(method, target, body=body, headers=headers, encode_chunked=chunked)
        answer = self._connection.getresponse()
        if answer.status >= http.client.BAD_REQUEST:
            raise EngineRefusedError(answer.status, words_of(answer.read()))
        return answer

    def close(self) -> None:
        self._connection.close()

    def __enter__(self) -> _Exchange:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def words_of(body: bytes) -> str:
    """What an answer that is an error says."""
    try:
        return str(json.loads(body)["message"])
    except (ValueError, KeyError, TypeError):
        return body.decode(errors="replace").strip() or "no reason given"
