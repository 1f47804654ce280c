"""One HTTP request to somebody we do not trust: to its URL only, and ended in time, whatever the other side does."""

from __future__ import annotations

import contextlib
import math
import socket
import threading
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import requests
from requests.adapters import HTTPAdapter
from urllib3 import HTTPConnectionPool, HTTPSConnectionPool
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.exceptions import HTTPError
from urllib3.util.ssl_ import create_urllib3_context

_UNPACKED: Final = {"Accept-Encoding": "identity"}
"""Nothing is unpacked: a small answer that becomes a huge one is just no JSON."""


class NoAnswerError(Exception):
    """There was no whole answer; in words that hold nothing of what the other side said."""


def post(
    url: str,
    body: bytes,
    headers: Mapping[str, str],
    *,
    timeout_seconds: float,
    most_bytes: int,
    ca_file: Path | None = None,
) -> tuple[int, bytes]:
    """The status and the body of the answer, or a byte more of it than ``most_bytes``; :class:`NoAnswerError`.

    With 0 nothing of the body is read, or waited for. Redirects are answers. It takes ``timeout_seconds`` at most.
    Looking up the name can take longer, because nothing can interrupt it; nobody is connected to after that.
    Whom ``ca_file`` vouches for is trusted as well as whom everybody trusts.
    """
    adapter, session = _OneConversation(ca_file), requests.Session()
    session.trust_env = False  # whoever may submit chooses the URL: no proxy's or .netrc's passwords are for them
    session.mount("http://", adapter)
    session.mount("https://", adapter)
    found, problem = (0, b""), ""
    with session, adapter.ended_after(timeout_seconds):
        try:
            with session.post(
                url,
                data=body,
                headers={**headers, **_UNPACKED},
                timeout=timeout_seconds,
                allow_redirects=False,
                stream=True,
            ) as response:
                found = response.status_code, _body_of(response, most_bytes)
        except requests.Timeout:
            adapter.too_late.set()
        except requests.exceptions.SSLError:
            problem = "it did not answer with a certificate that is trusted here for this name (JQUEUER_CA_FILE)"
        except (requests.RequestException, HTTPError, OSError, ValueError) as error:
            problem = f"it did not answer: {type(error).__name__}"
    if adapter.too_late.is_set():
        problem = f"no answer within {timeout_seconds:g} s"
    if problem:
        raise NoAnswerError(problem)
    return found


def _body_of(response: requests.Response, most_bytes: int) -> bytes:
    """The body, or a byte more of it than is allowed; asked for to its end, where one that was cut off is noticed."""
    body = b""
    while most_bytes and (data := response.raw.read(most_bytes + 1 - len(body), decode_content=False)):
        body += data
    return body


class _OneConversation(HTTPAdapter):
    """Knows its sockets, so that they can be ended: a socket's own time-out begins anew with each byte it gets."""

    def __init__(self, ca_file: Path | None) -> None:
        self._trusting = create_urllib3_context()
        if ca_file is not None:
            self._trusting.load_verify_locations(ca_file)
        super().__init__()

    def init_poolmanager(self, *args: Any, **options: Any) -> None:
        """Called by the constructor of the base class."""
        super().init_poolmanager(*args, **options, ssl_context=self._trusting)
        self.too_late = threading.Event()
        self._deadline = math.inf
        self._sockets: list[socket.socket] = []
        """Duplicates: TLS takes the descriptor from the socket it is given."""
        self.poolmanager.pool_classes_by_scheme = self._pool_classes()

    @contextlib.contextmanager
    def ended_after(self, seconds: float) -> Iterator[None]:
        """Within, the conversation lasts so long at most."""
        self._deadline = time.monotonic() + seconds
        timer = threading.Timer(seconds, self._end)
        timer.daemon = True
        timer.start()
        try:
            yield
        finally:
            timer.cancel()
            timer.join()
            for sock in self._sockets:
                sock.close()

    def _end(self) -> None:
        self.too_late.set()
        for sock in tuple(self._sockets):
            with contextlib.suppress(OSError):
                sock.shutdown(socket.SHUT_RDWR)

    def _left(self) -> float:
        """Seconds; :class:`TimeoutError` if there are none."""
        left = self._deadline - time.monotonic()
        if left <= 0:
            self.too_late.set()
        if self.too_late.is_set():
            raise TimeoutError
        return left

    def _connect(self, connection: HTTPConnection) -> socket.socket:
        """The first of the name's addresses that takes us; each but the last has half of what is left of the time."""
        failure = OSError("the name has no address")
        found = socket.getaddrinfo(connection._dns_host, connection.port, type=socket.SOCK_STREAM)
        for still, (family, kind, protocol, _, address) in zip(reversed(range(len(found))), found, strict=True):
            left = self._left()
            try:
                sock = socket.socket(family, kind, protocol)
            except OSError as error:  # this machine speaks no such protocol
                failure = error
                continue
            try:
                for option in connection.socket_options or ():
                    sock.setsockopt(*option)
                sock.settimeout(left / 2 if still else left)
                sock.connect(address)
                self._sockets.append(sock.dup())
                self._left()  # whoever was too late to end it finds out here
            except OSError as error:
                sock.close()
                failure = error
                continue
            sock.settimeout(connection.timeout)
            return sock
        self._left()
        raise failure

    def _pool_classes(self) -> dict[str, type[HTTPConnectionPool]]:
        """By scheme, pools whose connections are made by us."""
        connect = self._connect

        class Known(HTTPConnection):
            def _new_conn(self) -> socket.socket:
                return connect(self)

        class KnownEncrypted(Known, HTTPSConnection):
            pass

        class Pool(HTTPConnectionPool):
            ConnectionCls = Known

        class EncryptedPool(HTTPSConnectionPool):
            ConnectionCls = KnownEncrypted

        return {"http": Pool, "https": EncryptedPool}
