"""gunicorn's worker, and what it needs so that clients that say nothing cost little."""

from __future__ import annotations

import errno
import math
import resource
import selectors
import socket
import ssl
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any, Final

from gunicorn.util import close_graceful
from gunicorn.workers.gthread import ThreadWorker

from jqueuer_manager.open_requests import MOST_STREAMS

QUIET_SECONDS: Final = 30.0
"""A client that does not send what it has begun, or does not take what it is sent, is let go after so long."""
HEAD_SECONDS: Final = 10.0
"""The first line and the headers of a request have come after so long, or never will: not a byte now and then."""

_SPARE_THREADS: Final = 16
"""Beyond those of the open requests: for questions after health, and to tell others to come again."""
_IDLE_CONNECTIONS: Final = 768
"""Connections that are kept for a next request; beyond them each answer closes its own."""
_OTHER_FILES: Final = 512


def threads_for(open_requests: int) -> int:
    """Threads of the worker; they are started when they are first needed, and most only ever wait."""
    return open_requests + MOST_STREAMS + _SPARE_THREADS


def connections_for(open_requests: int) -> int:
    """Connections of the worker; more wait in the operating system's queue, unanswered."""
    return threads_for(open_requests) + _IDLE_CONNECTIONS


def allow_files(connections: int) -> None:
    """Let this process have so many connections, as far as the system lets it."""
    needed = connections + _OTHER_FILES
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != resource.RLIM_INFINITY and soft < needed:
        most = needed if hard == resource.RLIM_INFINITY else min(needed, hard)
        with suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, most), hard))


def tls_context(config: Any, default_context: Any) -> ssl.SSLContext:
    """gunicorn's ``ssl_context`` hook, asked at each connection: a renewed certificate is shown from then on."""
    context: ssl.SSLContext = default_context()
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.sslsocket_class = _PatientTlsSocket
    return context


class PatientWorker(ThreadWorker):  # type: ignore[misc] # gunicorn has no types
    """gthread waits for a begun request for ever; this one lets go of who falls silent, or has lost power.

    And a connection has a thread only once something was sent on it.
    """

    def handle_exit(self, sig: Any, frame: Any) -> None:
        """Stop once what is under way is answered; streams, which never are, end now."""
        self.app.end_streams()
        super().handle_exit(sig, frame)

    def handle_quit(self, sig: Any, frame: Any) -> None:
        """Stop at once; Python waits for every thread, so none may be left in a stream."""
        self.app.end_streams()
        super().handle_quit(sig, frame)

    def is_parent_alive(self) -> bool:
        """Whether gunicorn itself is; without it the worker stops, as when it is told to."""
        if super().is_parent_alive():
            return True
        self.alive = False  # else who asks again and again by one connection keeps the next manager from the port
        self.app.end_streams()
        return False

    def accept(self, listener: Any) -> None:
        """Accept a connection."""
        super().accept(_Listener(listener))

    def enqueue_req(self, conn: Any) -> None:
        """Hand a connection to a thread; one that has said nothing yet waits without, like one kept from earlier."""
        if conn.initialized or conn.data_ready:
            super().enqueue_req(conn)
            return
        conn.sock.setblocking(False)
        conn.timeout = time.monotonic() + self.cfg.keepalive
        self.pending_conns.append(conn)
        self.poller.register(conn.sock, selectors.EVENT_READ, partial(self.on_pending_socket_readable, conn))

    def handle(self, conn: Any) -> Any:
        """Answer a request; a connection that ends with it is closed here, which may take seconds.

        gunicorn closes it in the thread that accepts and hands out all the others.
        """
        conn.sock.begin_head()
        kept = super().handle(conn)
        if kept is False:
            close_graceful(conn.sock)
        return kept

    def handle_request(self, req: Any, conn: Any) -> Any:
        """Answer a request whose head has come; its body may take longer."""
        conn.sock.begin_body()
        return super().handle_request(req, conn)


class _Listener:
    def __init__(self, listener: Any) -> None:
        self._listener = listener

    def accept(self) -> tuple[_PatientSocket, Any]:
        connection, address = self._listener.accept()
        return _PatientSocket(fileno=connection.detach()), address

    def getsockname(self) -> Any:
        return self._listener.getsockname()


class _Patient:
    """A socket that blocks for so long only, and says that its client is gone then, which gunicorn takes calmly."""

    _until: float | None = None
    """When nothing more is read, in monotonic seconds; None before the head of a request has begun to come."""

    def begin_head(self) -> None:
        """What comes next is the head of a request."""
        self._until = None

    def begin_body(self) -> None:
        """What comes next is the body of a request, as slowly as it likes."""
        self._until = math.inf

    def hurry(self, seconds: float) -> None:
        """Read for no longer than so many seconds from now on; who has less already is given no more."""
        until = time.monotonic() + seconds
        self._until = until if self._until is None else min(self._until, until)

    def setblocking(self: Any, flag: bool) -> None:
        if self.fileno() >= 0:  # gunicorn closes what is closed already
            self.settimeout(QUIET_SECONDS if flag else 0.0)

    def recv(self: Any, *arguments: Any) -> bytes:
        with _gone_when_quiet(), self._in_time():
            return bytes(super().recv(*arguments))  # type: ignore[misc] # of the socket it is mixed into

    @contextmanager
    def _in_time(self: Any) -> Iterator[None]:
        if self._until is None:
            self.hurry(HEAD_SECONDS)
        quiet = self.gettimeout()
        if not quiet or self._until == math.inf:
            yield
            return
        left = self._until - time.monotonic()
        if left <= 0:
            raise TimeoutError
        self.settimeout(min(quiet, left))
        try:
            yield
        finally:
            self.settimeout(quiet)

    def sendall(self, *arguments: Any) -> None:
        with _gone_when_quiet():
            super().sendall(*arguments)  # type: ignore[misc]

    def do_handshake(self, *arguments: Any) -> None:
        with _gone_when_quiet():
            super().do_handshake(*arguments)  # type: ignore[misc]


class _PatientSocket(_Patient, socket.socket):
    pass


class _PatientTlsSocket(_Patient, ssl.SSLSocket):
    pass


@contextmanager
def _gone_when_quiet() -> Iterator[None]:
    try:
        yield
    except TimeoutError:
        raise ConnectionResetError(errno.ECONNRESET, f"nothing for {QUIET_SECONDS:g} s, or too little") from None
