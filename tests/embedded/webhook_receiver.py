"""Who receives webhooks: a real HTTP server that a test can make late, rude or silent.

Signatures are checked by the snippet of docs/notifications.md.
"""

from __future__ import annotations

import json
import re
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from tests.certificates import Certificate

PAGE = Path(__file__).parents[2] / "docs" / "notifications.md"


def documented_check() -> Callable[[str, dict[str, str], bytes], bool]:
    """The function that the page shows."""
    (snippet,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    namespace: dict[str, Any] = {}
    exec(snippet, namespace)
    check: Callable[[str, dict[str, str], bytes], bool] = namespace["is_genuine"]
    return check


@dataclass(frozen=True)
class Received:
    """One request."""

    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def told(self) -> dict[str, Any]:
        """The JSON."""
        return dict(json.loads(self.body))

    @property
    def type(self) -> str:
        """What it is about."""
        return str(self.told["type"])

    @property
    def id(self) -> str:
        """The message's."""
        return self.headers["webhook-id"]

    def is_genuine(self, secret: str) -> bool:
        """By the documentation's own code."""
        return documented_check()(secret, self.headers, self.body)


Answer = Callable[[BaseHTTPRequestHandler], None]


def status(code: int, **headers: str) -> Answer:
    """An answer without a body."""

    def answer(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(code)
        for name, value in {"Content-Length": "0", **headers}.items():
            handler.send_header(name, value)
        handler.end_headers()

    return answer


def hanging(let_go: threading.Event) -> Answer:
    """No answer, until then."""

    def answer(handler: BaseHTTPRequestHandler) -> None:
        let_go.wait(60)

    return answer


@dataclass
class WebhookReceiver:
    """What came, and what is answered."""

    port: int
    answer: Answer = field(default_factory=lambda: status(204))
    received: list[Received] = field(default_factory=list)

    scheme: str = "http"

    @property
    def origin(self) -> str:
        """Scheme, host and port."""
        return f"{self.scheme}://127.0.0.1:{self.port}"

    @property
    def url(self) -> str:
        """With a path and a query that are nobody else's business."""
        return f"{self.origin}/hook/t0ken?key=hush"

    def types(self) -> list[str]:
        """What was told, in order."""
        return [one.type for one in self.received]


@contextmanager
def webhook_receiver(port: int = 0, certificate: Certificate | None = None) -> Iterator[WebhookReceiver]:
    """One that listens, on this port or a free one; with a certificate it speaks TLS."""
    receiver = WebhookReceiver(port)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            headers = {name.lower(): value for name, value in self.headers.items()}
            receiver.received.append(Received(self.path, headers, body))
            receiver.answer(self)

        def log_message(self, *_: object) -> None: ...

    class Server(ThreadingHTTPServer):
        daemon_threads = True

        def handle_error(self, *_: object) -> None: ...  # who hangs is left

    server = Server(("127.0.0.1", port), Handler)
    receiver.port = server.server_port
    if certificate is not None:
        receiver.scheme = "https"
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate.chain, certificate.key)
        server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield receiver
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
