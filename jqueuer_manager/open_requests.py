"""Back-pressure: how many requests are open at once, which of them are worked on, and who is told to come again.

Every open request has a thread, and most of these wait here for their turn: a few at a time are worked on, each kind in
a room of its own, so that no number of submissions and file transfers keeps a small question waiting.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterable
from enum import Enum
from functools import partial
from http import HTTPStatus
from typing import TYPE_CHECKING, Final

from werkzeug.wsgi import ClosingIterator

from jqueuer_manager.api.headers import secure
from jqueuer_manager.api.health import OPEN_REQUESTS
from jqueuer_manager.api.problems import RETRY_AFTER_SECONDS, problem
from jqueuer_manager.api.refusals import network_of
from jqueuer_manager.shared_answers import question_of, shared_answer
from jqueuer_manager.turns import Room, Turn

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIApplication, WSGIEnvironment

ALWAYS_ANSWERED: Final = frozenset({"/healthz", "/readyz"})
"""Whoever asks these decides whether the manager is started again, so they never wait."""

_SMALL_BYTES: Final = 64 * 1024
_LOGIN: Final = "/api/v1/session"
_EVENTS: Final = "/api/v1/events"
_SUBMISSIONS: Final = re.compile(r"/api/v1/(?:experiments|quotes)/?|/experiment/add/?")
_FILES: Final = re.compile(r"/api/v1/agents/inputs/|/attempts/[^/]+/outputs(?:/|$)")


class Kind(Enum):
    """What a request asks for, as far as its first line and its headers tell."""

    QUESTION = "requests"
    COMMAND = "commands"
    """Whose body is short, but may come slowly."""
    SUBMISSION = "submissions"
    """A description to be read: however short, it may stand for a million jobs."""
    TRANSFER = "file transfers"
    STREAM = "event streams"
    """Which last for as long as somebody looks, and hardly ever have anything to do."""
    LOGIN = "logins"
    """The one command whose body is read before it is known who sends it."""


MOST_STREAMS: Final = 64
"""They are counted apart from all others: however many look, nobody else is refused for it."""

_AT_ONCE: Final = {
    Kind.QUESTION: 3,
    Kind.COMMAND: 16,
    Kind.SUBMISSION: 4,
    Kind.TRANSFER: 16,
    Kind.STREAM: MOST_STREAMS,
    Kind.LOGIN: 4,
}
"""Requests of a kind that are worked on at the same time. More of them would not be answered any sooner: threads that
compute share one interpreter, and each that waits for it besides makes every change of hands dearer."""
_SET: Final = "as many as this manager takes at once (JQUEUER_MAX_OPEN_REQUESTS)"
_SHARE: Final = {Kind.QUESTION: 1, Kind.COMMAND: 1, Kind.SUBMISSION: 8, Kind.TRANSFER: 2, Kind.LOGIN: 8}
"""What part of all open requests a kind may be: one in so many."""
_LOGINS_OF_AN_ADDRESS: Final = 4
"""They need no token: else one client could begin all there may be, and nobody could log in."""


def kind_of(method: str, path: str, content_length: str) -> Kind:
    """The kind of a request; without a length its body comes in chunks, and nobody knows how much of it."""
    if method == "POST" and _SUBMISSIONS.fullmatch(path):
        return Kind.SUBMISSION
    if method == "POST" and path == _LOGIN:
        return Kind.LOGIN
    if method == "GET" and path == _EVENTS:
        return Kind.STREAM
    if method in {"GET", "HEAD"}:
        return Kind.TRANSFER if method == "GET" and _FILES.search(path) else Kind.QUESTION
    if method == "PUT" and not (content_length.isdecimal() and int(content_length) <= _SMALL_BYTES):
        return Kind.TRANSFER
    return Kind.COMMAND


class OpenRequests:
    """WSGI middleware: a request is open until its answer has been sent, and at most ``limit`` are.

    Its turn ends sooner: who is slow to take an answer, or to send what nobody will read, keeps none waiting.
    """

    def __init__(self, app: WSGIApplication, limit: int) -> None:
        self._app = app
        self._limit = limit
        self._lock = threading.Lock()
        self._rooms = {kind: Room(_AT_ONCE[kind]) for kind in Kind}

    def by_kind(self) -> dict[str, int]:
        """How many are open now."""
        with self._lock:
            return {kind.name.lower(): room.open for kind, room in self._rooms.items()}

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        """Answer, perhaps after a while, perhaps with 503."""
        if environ.get("PATH_INFO") in ALWAYS_ANSWERED:
            return self._app(environ, start_response)
        kind = kind_of(
            str(environ["REQUEST_METHOD"]), str(environ.get("PATH_INFO", "")), str(environ.get("CONTENT_LENGTH", ""))
        )
        room = self._rooms[kind]
        address = network_of(str(environ.get("REMOTE_ADDR", ""))) if kind is Kind.LOGIN else ""
        leave = partial(room.leave, address)
        with self._lock:
            refusal = self._why_refused(kind, address)
            turn = None if refusal else room.enter(address, question_of(environ) if kind is Kind.QUESTION else None)
        if refusal:
            return _busy(refusal)(environ, start_response)
        environ[OPEN_REQUESTS] = self.by_kind
        if turn is not None:
            turn.come.wait()
            if turn.answer is not None:
                return ClosingIterator(turn.answer(environ, start_response), lambda: self._end(leave))
        try:
            app = self._app if turn is None or not turn.others else self._for_all(room, turn.others, environ)
            answer = app(environ, start_response)
        except BaseException:
            self._end(room.end_turn, leave)
            raise
        if kind is Kind.STREAM or (kind is Kind.TRANSFER and environ["REQUEST_METHOD"] == "GET"):  # sending is the work
            return ClosingIterator(answer, lambda: self._end(room.end_turn, leave))
        self._end(room.end_turn)
        return ClosingIterator(answer, lambda: self._end(leave))

    def _for_all(self, room: Room, others: list[Turn], environ: WSGIEnvironment) -> WSGIApplication:
        """Ask once, and tell the others; what answers the one who asked."""
        shared = None
        try:
            app, shared = shared_answer(self._app, environ)
        finally:
            if shared is None:
                self._end(partial(room.wait_again, others))
        for other in others if shared is not None else ():
            other.give(shared)
        return app

    def _end(self, *steps: Callable[[], None]) -> None:
        with self._lock:
            for step in steps:
                step()

    def _why_refused(self, kind: Kind, address: str) -> str:
        if kind is Kind.STREAM:
            full = self._rooms[kind].open >= MOST_STREAMS
            return f"{MOST_STREAMS} {kind.value} are open, as many as this manager takes at once" if full else ""
        if kind is Kind.LOGIN and self._rooms[kind].open_from[address] >= _LOGINS_OF_AN_ADDRESS:
            return f"{_LOGINS_OF_AN_ADDRESS} logins from {address} are open, as many as may come from one address"
        if sum(room.open for other, room in self._rooms.items() if other is not Kind.STREAM) >= self._limit:
            return f"{self._limit} requests are open, {_SET}"
        most = self._limit // _SHARE[kind]
        return f"{most} {kind.value} are open, {_SET}" if self._rooms[kind].open >= most else ""


def _busy(why: str) -> WSGIApplication:
    return secure(
        problem(
            HTTPStatus.SERVICE_UNAVAILABLE,
            "busy",
            f"{why}; nothing was done: come again in {RETRY_AFTER_SECONDS} seconds",
            headers={"Retry-After": str(RETRY_AFTER_SECONDS)},
        )
    )
