"""What a policy service may answer, from its first byte to its last, and what the journal says about it."""

from __future__ import annotations

import gzip
import json
import select
import socket
import struct
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

TIMEOUT: Final = "1500ms"
_PAUSE_SECONDS: Final = 0.2
_SHORT: Final = b'{"containers": 2}'

Speak = Callable[[socket.socket, threading.Event], None]


@dataclass(frozen=True)
class Case:
    """How a service answers."""

    name: str
    speak: Speak
    said: str
    """A part of the journal's reason for the containers it began with."""
    falls_back: bool = True


def http(body: bytes, *headers: bytes, status: bytes = b"200 OK", media_type: bytes = b"application/json") -> bytes:
    """A whole answer."""
    lines = [b"HTTP/1.1 " + status, b"Content-Type: " + media_type, b"Content-Length: %d" % len(body), *headers]
    return b"\r\n".join([*lines, b"Connection: close"]) + b"\r\n\r\n" + body


def bytes_of(data: bytes) -> Speak:
    """Say this, and hang up."""
    return lambda connection, stop: connection.sendall(data)


def _said(body: bytes | str) -> Speak:
    return bytes_of(http(body if isinstance(body, bytes) else body.encode()))


def _gone(connection: socket.socket, stop: threading.Event, within_seconds: float) -> bool:
    """Whether whoever asked has hung up, or we are to; looks for so long."""
    readable, _, _ = select.select([connection], [], [], within_seconds)
    return stop.is_set() or (bool(readable) and not connection.recv(65_536))


def _nothing_more(data: bytes) -> Speak:
    """Say this, and then nothing, for ever."""

    def speak(connection: socket.socket, stop: threading.Event) -> None:
        connection.sendall(data)
        while not _gone(connection, stop, _PAUSE_SECONDS):
            pass

    return speak


def _drop_by_drop(data: bytes, then: bytes) -> Speak:
    """Say this at once, and then for ever a byte now and then: a time-out between two bytes never comes."""

    def speak(connection: socket.socket, stop: threading.Event) -> None:
        connection.sendall(data)
        while not _gone(connection, stop, _PAUSE_SECONDS):
            connection.sendall(then)

    return speak


def _for_ever(data: bytes, then: bytes) -> Speak:
    """Say this, and then as much as is taken."""

    def speak(connection: socket.socket, stop: threading.Event) -> None:
        connection.sendall(data)
        while not _gone(connection, stop, 0.0):
            connection.sendall(then)

    return speak


def _reset_after(data: bytes) -> Speak:
    """Say this, and break the connection."""

    def speak(connection: socket.socket, stop: threading.Event) -> None:
        connection.sendall(data)
        time.sleep(0.05)  # or the reset overtakes what was said
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))

    return speak


def _number(name: str, number: str) -> Case:
    return Case(f"number-{name}", _said(f'{{"containers": {number}}}'), "a whole number from 0 to 1000000")


def _reason(name: str, reason: object, said: str) -> Case:
    words = json.dumps({"containers": 2, "reason": reason})
    return Case(f"reason-{name}", _said(words), f"answered 2 containers{said}", falls_back=False)


_HEAD: Final = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
_NOT_JSON: Final = "its answer is not JSON"
_NO_OBJECT: Final = "its answer is not an object"
_LATE: Final = "no answer within 1.5 s"

CASES: Final = [
    # the body
    Case("body-empty", _said(b""), _NOT_JSON),
    Case("body-of-words", _said(b"seven, please"), _NOT_JSON),
    Case("body-of-a-page", bytes_of(http(b"<html>2</html>", media_type=b"text/html")), _NOT_JSON),
    Case("body-cut-off-json", _said(b'{"containers": 2'), _NOT_JSON),
    Case("body-two-documents", _said(_SHORT + _SHORT), _NOT_JSON),
    Case("body-no-utf-8", _said(b'{"containers": 2, "reason": "\xff"}'), _NOT_JSON),
    Case("body-nested-deep", _said(b"[" * 60_000), _NOT_JSON),
    Case(
        "body-nested-deep-within", _said(b'{"containers": 2, "x": ' + b'{"a":' * 9000 + b"1" + b"}" * 9001), _NOT_JSON
    ),
    Case("body-a-number", _said(b"7"), _NO_OBJECT),
    Case("body-null", _said(b"null"), _NO_OBJECT),
    Case("body-a-list", _said(b'[{"containers": 2}]'), _NO_OBJECT),
    Case("body-compressed", bytes_of(http(gzip.compress(_SHORT), b"Content-Encoding: gzip")), _NOT_JSON),
    Case(
        "body-compressed-a-thousandfold",
        bytes_of(http(gzip.compress(b" " * 50_000_000 + _SHORT), b"Content-Encoding: gzip")),
        _NOT_JSON,
    ),
    Case("body-said-to-be-compressed", bytes_of(http(_SHORT, b"Content-Encoding: br")), "2 containers", False),
    Case("body-of-another-type", bytes_of(http(_SHORT, media_type=b"image/png")), "answered 2 containers", False),
    Case("body-too-large", _said(_SHORT + b" " * 65_536), "larger than 65536 bytes"),
    Case("body-endless", _for_ever(_HEAD + b"\r\n" + _SHORT, b" " * 65_536), "larger than 65536 bytes"),
    Case(
        "body-endless-in-chunks",
        _for_ever(_HEAD + b"Transfer-Encoding: chunked\r\n\r\n", b"400\r\n" + b" " * 1024 + b"\r\n"),
        "larger than 65536 bytes",
    ),
    Case(
        "body-of-a-broken-chunk",
        bytes_of(_HEAD + b"Transfer-Encoding: chunked\r\n\r\nxyz\r\n" + _SHORT),
        "it did not answer",
    ),
    Case("body-shorter-than-announced", bytes_of(_HEAD + b"Content-Length: 99\r\n\r\n" + _SHORT), "it did not answer"),
    Case("body-drop-by-drop", _drop_by_drop(_HEAD + b"\r\n" + _SHORT, b" "), _LATE),
    Case("body-never-comes", _nothing_more(_HEAD + b"Content-Length: 17\r\n\r\n"), _LATE),
    # the number
    Case("number-missing", _said(b"{}"), 'its answer lacks "containers"'),
    _number("negative", "-1"),
    _number("fraction", "2.0"),
    _number("with-an-exponent", "2e0"),
    _number("not-a-number", "NaN"),
    _number("infinite", "Infinity"),
    _number("null", "null"),
    _number("true", "true"),
    _number("text", '"2"'),
    _number("list", "[2]"),
    _number("too-many", "1000001"),
    _number("of-four-thousand-digits", "9" * 4000),
    Case("number-of-ten-thousand-digits", _said('{"containers": ' + "9" * 10_000 + "}"), _NOT_JSON),
    Case("number-twice", _said(b'{"containers": -1, "containers": 2}'), "answered 2 containers", False),
    Case("number-large", _said(b'{"containers": 1000000}'), "answered 1000000 containers", False),
    # its words
    _reason("half-a-character", "\ud800", ": "),
    _reason("escape-sequences", "\x1b[2J\x1b]0;owned\x07", ":  [2J ]0;owned "),
    _reason("lines", "one\r\ntwo\u2028three", ": one  two three"),
    _reason("nul", "a\x00b", ": a b"),
    _reason("long", "x" * 5000, ": " + "x" * 300),
    _reason("no-text", {"why": ["not"]}, ""),
    # the status
    Case("status-204", bytes_of(b"HTTP/1.1 204 No Content\r\n\r\n"), _NOT_JSON),
    Case("status-304", bytes_of(b"HTTP/1.1 304 Not Modified\r\n\r\n"), "status 304"),
    Case("status-404", bytes_of(http(_SHORT, status=b"404 Not Found")), "status 404"),
    Case("status-401", bytes_of(http(_SHORT, b"WWW-Authenticate: Basic", status=b"401 No")), "status 401"),
    Case("status-500", bytes_of(http(_SHORT, status=b"500 Oops")), "status 500"),
    Case("status-of-no-class", bytes_of(http(_SHORT, status=b"999 What")), "status 999"),
    Case("status-no-number", bytes_of(http(_SHORT, status=b"ok")), "it did not answer"),
    Case("redirection", bytes_of(http(b"", b"Location: /led-astray", status=b"302 Found")), "status 302"),
    Case("redirection-with-the-body", bytes_of(http(b"", b"Location: /led-astray", status=b"307 There")), "status 307"),
    Case("continue-for-ever", _for_ever(b"", b"HTTP/1.1 100 Continue\r\n\r\n"), _LATE),
    # the head
    Case("no-http", bytes_of(b"SSH-2.0-OpenSSH_9.6\r\n"), "it did not answer"),
    Case("head-of-http-0.9", bytes_of(_SHORT), "it did not answer"),
    Case("head-only-a-line", bytes_of(b"HTTP/1.1 200 OK\r\n"), _NOT_JSON),
    Case("head-without-end", _for_ever(b"HTTP/1.1 200 OK\r\n", b"X-A: b\r\n"), "it did not answer"),
    Case("head-of-a-megabyte", bytes_of(_HEAD + b"X-A: " + b"a" * 1_000_000 + b"\r\n\r\n"), "it did not answer"),
    Case("head-drop-by-drop", _drop_by_drop(b"HTTP/1.1 200 OK\r\nX-A: ", b"a"), _LATE),
    Case("says-nothing", _nothing_more(b""), _LATE),
    Case("hangs-up", bytes_of(b""), "it did not answer"),
    Case("breaks-off-at-once", _reset_after(b""), "it did not answer"),
    Case("breaks-off-in-its-head", _reset_after(b"HTTP/1.1 200 OK\r\nContent-"), "it did not answer"),
    Case("breaks-off-in-its-body", _reset_after(_HEAD + b"Content-Length: 17\r\n\r\n{"), "it did not answer"),
]
