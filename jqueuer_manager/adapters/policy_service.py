"""A policy behind a URL (paper §III-A), asked over HTTP."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Iterator
from typing import Any, Final

import requests
from requests.adapters import HTTPAdapter
from urllib3 import HTTPConnectionPool, HTTPSConnectionPool
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.exceptions import HTTPError

from cautoscaler import Advice
from cautoscaler.advice import MAX_ANSWER_BYTES, read_advice
from jqueuer.controller import AskPolicy

_HEADERS: Final = {"Accept": "application/json", "Accept-Encoding": "identity"}
"""Nothing is unpacked: a small answer that becomes a huge one is just no JSON."""


def ask_policy(question: AskPolicy) -> Advice:
    """Ask a policy service; every way it can fail becomes the advice's error."""
    adapter, session = _OneConversation(), requests.Session()
    session.trust_env = False  # whoever may submit chooses the URL: no proxy's or .netrc's passwords are for them
    session.mount("http://", adapter)
    session.mount("https://", adapter)
    with session, adapter.ended_after(question.timeout_seconds):
        try:
            with session.post(
                question.url,
                json=question.request,
                headers=_HEADERS,
                timeout=question.timeout_seconds,
                allow_redirects=False,
                stream=True,
            ) as response:
                advice = read_advice(response.status_code, _body_of(response))
        except requests.Timeout:
            adapter.too_late.set()
        except (requests.RequestException, HTTPError, OSError, ValueError) as error:
            advice = Advice(error=f"it did not answer: {type(error).__name__}")
    if adapter.too_late.is_set():
        return Advice(error=f"no answer within {question.timeout_seconds:g} s")
    return advice


def _body_of(response: requests.Response) -> bytes:
    """The body, or a byte more of it than is allowed; asked for to its end, where one that was cut off is noticed."""
    body = b""
    while data := response.raw.read(MAX_ANSWER_BYTES + 1 - len(body), decode_content=False):
        body += data
    return body


class _OneConversation(HTTPAdapter):
    """Knows its connections, so that they can be ended: a socket's own time-out begins anew with each byte it gets."""

    def init_poolmanager(self, *args: Any, **options: Any) -> None:
        """Called by the constructor of the base class."""
        super().init_poolmanager(*args, **options)
        self.too_late = threading.Event()
        self._connections: list[HTTPConnection] = []
        self._sockets: list[socket.socket] = []
        self.poolmanager.pool_classes_by_scheme = self._pool_classes()

    @contextlib.contextmanager
    def ended_after(self, seconds: float) -> Iterator[None]:
        """Within, the conversation lasts so long at most."""
        timer = threading.Timer(seconds, self._end)
        timer.daemon = True
        timer.start()
        try:
            yield
        finally:
            timer.cancel()

    def _end(self) -> None:
        self.too_late.set()
        under_way = (one.sock for one in self._connections if one.sock is not None)
        for sock in (*self._sockets, *under_way):
            with contextlib.suppress(OSError):
                socket.socket.shutdown(sock, socket.SHUT_RDWR)  # of TLS, too, what is below it

    def _pool_classes(self) -> dict[str, type[HTTPConnectionPool]]:
        """By scheme, pools whose connections are written down."""
        connections, sockets, too_late = self._connections, self._sockets, self.too_late

        class Known(HTTPConnection):
            def connect(self) -> None:
                connections.append(self)
                super().connect()
                sockets.append(self.sock)  # a connection forgets it once the answer has begun
                if too_late.is_set():
                    raise TimeoutError

        class KnownEncrypted(Known, HTTPSConnection):
            pass

        class Pool(HTTPConnectionPool):
            ConnectionCls = Known

        class EncryptedPool(HTTPSConnectionPool):
            ConnectionCls = KnownEncrypted

        return {"http": Pool, "https": EncryptedPool}
