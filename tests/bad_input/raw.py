"""Bytes to a port, and what comes back."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

SECONDS: Final = 60.0


@dataclass(frozen=True)
class Answer:
    """What came back until the server closed the connection."""

    status: int
    head: str
    body: bytes


@dataclass(frozen=True)
class Target:
    """Where the cases go, and what their placeholders stand for."""

    address: tuple[str, int]
    stands_for: dict[bytes, bytes]

    def ask(self, data: bytes, *, breaks_off: bool = False) -> Answer:
        """Send it and read what comes until the end."""
        for name, value in self.stands_for.items():
            data = data.replace(name, value)
        with socket.create_connection(self.address, timeout=SECONDS) as connection:
            with contextlib.suppress(BrokenPipeError, ConnectionResetError):  # refused before all of it was sent
                connection.sendall(data)
            if breaks_off:
                with contextlib.suppress(OSError):  # the other end has gone already
                    connection.shutdown(socket.SHUT_WR)
            return _answer_of(b"".join(_pieces(connection)))


def _pieces(connection: socket.socket) -> Iterator[bytes]:
    with contextlib.suppress(ConnectionResetError):  # what we sent beyond the refusal was never read
        while data := connection.recv(65_536):
            yield data


def _answer_of(received: bytes) -> Answer:
    head, _, body = received.partition(b"\r\n\r\n")
    first = head.split(b" ", 2)
    assert len(first) > 2, received[:200]
    assert first[0].startswith(b"HTTP/1."), received[:200]
    return Answer(int(first[1]), head.decode("latin-1"), body)
