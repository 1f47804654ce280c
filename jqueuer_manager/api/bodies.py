"""Request bodies: counted while they come, never larger than allowed, whether their length was announced or not."""

from __future__ import annotations

import hashlib
import io
from typing import IO, Any, Final

import structlog
from flask import Request, Response, request
from werkzeug.exceptions import BadRequest, HTTPException, UnsupportedMediaType

from jqueuer.errors import TooLargeError
from jqueuer.units import format_size

CHUNK_BYTES: Final = 64 * 1024
DRAIN_BYTES: Final = 64 * 1024 * 1024
DRAIN_SECONDS: Final = 10.0
SMALL_BYTES: Final = 64 * 1024
SMALL_SECONDS: Final = 10.0
"""A body that may be no larger than this has come by then, or never will."""
_SHOWN: Final = 100
"""So many characters of what was sent are repeated in a refusal."""

_log: Final = structlog.get_logger(__name__)


class Body(io.RawIOBase):
    """A request body as a stream that counts and digests what is read from it.

    Raises :class:`TooLargeError` beyond the limit, and at once where the announced length is beyond it.
    """

    def __init__(self, source: Request, limit_bytes: int) -> None:
        super().__init__()
        self._limit_bytes = limit_bytes
        self._taken_bytes = 0
        self._digest = hashlib.sha256()
        self._announced_bytes = source.content_length or 0
        if self._announced_bytes > limit_bytes:
            raise self._too_large()
        self._stream: IO[bytes] = source.stream

    def readable(self) -> bool:
        """It is."""
        return True

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override] # bytes are never written to
        """The next bytes; 0 at the end."""
        try:
            data = self._stream.read(len(buffer))
        except HTTPException:
            raise
        except Exception as error:
            # Each server has its own exceptions for a connection that broke off or a chunk that is none.
            raise BadRequest(f"the request body broke off: {error}") from error
        self._taken_bytes += len(data)
        if self._taken_bytes > self._limit_bytes:
            raise self._too_large()
        if not data and self._taken_bytes < self._announced_bytes:
            # Not every server says so itself; half a list of jobs must never pass for the whole.
            raise BadRequest(f"the request body broke off: {self._taken_bytes} of {self._announced_bytes} bytes came")
        self._digest.update(data)
        buffer[: len(data)] = data
        return len(data)

    def sha256(self) -> str:
        """The checksum of what was read."""
        return self._digest.hexdigest()

    def buffered(self) -> io.BufferedReader:
        """The same with a buffer, for reading lines or large chunks."""
        return io.BufferedReader(self, CHUNK_BYTES)

    def _too_large(self) -> TooLargeError:
        return TooLargeError(f"the request body is larger than {format_size(self._limit_bytes)}, the limit here")


def read_json(limit_bytes: int, *, seconds: float = SMALL_SECONDS) -> bytes:
    """The body of a request that must be JSON; a small one has so many seconds to come."""
    require_media_type(frozenset({"application/json"}))
    if limit_bytes <= SMALL_BYTES:
        _hurry(request.environ, seconds)
    return Body(request, limit_bytes).buffered().read()


def require_media_type(allowed: frozenset[str]) -> str:
    """The request's media type; 415 where it is none of these, or the body is compressed."""
    if (coding := request.headers.get("Content-Encoding", "identity")) != "identity":
        raise UnsupportedMediaType(f"expected a body as it is, without a Content-Encoding; got {coding[:_SHOWN]}")
    if request.mimetype not in allowed:
        sent = request.mimetype[:_SHOWN] or "none"
        raise UnsupportedMediaType(f"expected a Content-Type of {', '.join(sorted(allowed))}; got {sent}")
    return request.mimetype


def drain(response: Response) -> Response:
    """Once a refusal was sent, read what is left of the body, within bounds, so that the client gets to read it.

    A connection closed with unread bytes is reset, and the reset may overtake the response. Who has only begun to send
    is answered at once, and gets no thread for as long as it likes.
    """
    if response.status_code >= 400 and request.method not in {"GET", "HEAD", "OPTIONS"}:
        stream, environ = request.stream, request.environ
        response.call_on_close(lambda: _read_to_end(stream, environ))
    return response


def _read_to_end(stream: IO[bytes], environ: dict[str, Any]) -> None:
    left_bytes = DRAIN_BYTES
    try:
        _hurry(environ, DRAIN_SECONDS)
        while left_bytes > 0 and (data := stream.read(CHUNK_BYTES)):
            left_bytes -= len(data)
    except Exception:
        _log.debug("the rest of a refused body broke off")


def _hurry(environ: dict[str, Any], seconds: float) -> None:
    """Give the client so many seconds to send what is read, if the server's socket knows how."""
    hurry = getattr(environ.get("gunicorn.socket"), "hurry", None)
    if hurry is not None:
        hurry(seconds)
