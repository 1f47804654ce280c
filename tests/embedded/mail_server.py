"""A mail server that takes what it is sent: enough of SMTP for a real client, and not a word more."""

from __future__ import annotations

import email
import socketserver
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from email.message import Message
from email.policy import default


@dataclass
class MailServer:
    """What came."""

    port: int
    mails: list[Message] = field(default_factory=list)


@contextmanager
def mail_server(port: int = 0) -> Iterator[MailServer]:
    """One that listens, on this port or a free one."""
    post = MailServer(port)

    class Conversation(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            self.say("220 here")
            for line in iter(self.rfile.readline, b""):
                word = line[:4].strip().upper()
                if word == b"DATA":
                    self.say("354 go on")
                    lines = list(iter(self.rfile.readline, b".\r\n"))
                    post.mails.append(email.message_from_bytes(b"".join(lines), policy=default))
                    self.say("250 taken")
                elif word == b"QUIT":
                    self.say("221 bye")
                    return
                else:
                    self.say("250 ok")

        def say(self, line: str) -> None:
            self.wfile.write(f"{line}\r\n".encode())

    class Server(socketserver.ThreadingTCPServer):
        daemon_threads = allow_reuse_address = True

    server = Server(("127.0.0.1", port), Conversation)
    post.port = server.server_address[1]
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield post
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
