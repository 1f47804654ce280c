"""One answer for several requests that ask the same, by the same token, and were all there before it was looked up.

Nobody is told anything older than the own question, so it is as if each had been answered alone.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from werkzeug.datastructures import Headers
from werkzeug.test import run_wsgi_app
from werkzeug.wsgi import ClosingIterator

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIApplication, WSGIEnvironment

_MOST_BYTES: Final = 1024 * 1024
_ASKED: Final = ("REQUEST_METHOD", "SCRIPT_NAME", "PATH_INFO", "QUERY_STRING", "wsgi.url_scheme", "CONTENT_TYPE")


def question_of(environ: WSGIEnvironment) -> Hashable | None:
    """All that an answer can depend on; None where the request has a body, which is its own."""
    if environ.get("CONTENT_LENGTH", "0") not in {"", "0"} or "HTTP_TRANSFER_ENCODING" in environ:
        return None
    headers = ((name, value) for name, value in environ.items() if name.startswith("HTTP_"))
    return (*(environ.get(name) for name in _ASKED), frozenset(headers))


@dataclass(frozen=True)
class SharedAnswer:
    """An answer in memory; a WSGI application that always gives it."""

    status: str
    headers: list[tuple[str, str]]
    body: bytes

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        """Answer."""
        start_response(self.status, list(self.headers))
        return [self.body]


def shared_answer(app: WSGIApplication, environ: WSGIEnvironment) -> tuple[WSGIApplication, SharedAnswer | None]:
    """Ask; what gives the answer to who asked, and the same for others, where it is for others, too.

    Refusals are not, since they are counted by who is refused; nor what sets a cookie, nor what is too big to be kept.
    """
    parts, status, headers = run_wsgi_app(app, environ)
    if status.startswith("200") and "Set-Cookie" not in headers and _length(headers) <= _MOST_BYTES:
        with closing(ClosingIterator(parts)):
            answer = SharedAnswer(status, headers.to_wsgi_list(), b"".join(parts))
        return answer, answer

    def alone(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        start_response(status, headers.to_wsgi_list())
        return parts

    return alone, None


def _length(headers: Headers) -> float:
    return headers.get("Content-Length", math.inf, type=int)
