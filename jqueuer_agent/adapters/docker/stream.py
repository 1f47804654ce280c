"""The streams of an exec: a connection to the engine that is nobody's but ours.

After its answer the engine speaks frames of its own: a byte for the stream, three of nothing, four of length, content.
"""

from __future__ import annotations

import http
import select
import struct
import time
from collections.abc import Iterator
from typing import Final

from jqueuer.errors import ContainerGoneError, EngineUnavailableError
from jqueuer_agent.adapters.docker.http_api import connect, words_of

_READ_BYTES: Final = 1 << 18
_HEADER: Final = struct.Struct(">BxxxL")
_STREAMS: Final = {1: "stdout", 2: "stderr"}
_CONNECT_SECONDS: Final = 30.0
_LONGEST_ANSWER_BYTES: Final = 1 << 20
_GONE: Final = frozenset({http.HTTPStatus.NOT_FOUND, http.HTTPStatus.CONFLICT})


class StartRefusedError(EngineUnavailableError):
    """The engine did not start the command, and says why."""


class ExecStream:
    """An exec, started and attached."""

    def __init__(self, url: str, exec_id: str) -> None:
        self.exec_id = exec_id
        self._partial = b""
        self._stream = ""
        self._frame_left = 0
        self._socket = connect(url)
        try:
            self._socket.settimeout(_CONNECT_SECONDS)
            self._socket.sendall(_request(f"/exec/{exec_id}/start"))
            self._pending = self._read_answer()
        except BaseException:
            self._socket.close()
            raise
        self._poll = select.poll()
        self._poll.register(self._socket, select.POLLIN)

    def send(self, data: bytes) -> None:
        """Write to the command's standard input."""
        self._socket.sendall(data)

    def receive(self, moment: float) -> list[tuple[str, bytes]] | None:
        """What came, ("stdout" | "stderr", bytes) each; nothing where nothing came until the moment; None at the end.

        The moment is one of ``time.monotonic``. A connection that broke off has ended as well.
        """
        data, self._pending = self._pending, b""
        if not data:
            if not self._poll.poll(max(0.0, (moment - time.monotonic()) * 1000 + 1)):
                return []
            try:
                data = self._socket.recv(_READ_BYTES)
            except OSError:
                return None
            if not data:
                return None
        return list(self._frames(data))

    def _frames(self, data: bytes) -> Iterator[tuple[str, bytes]]:
        if self._partial:
            data, self._partial = self._partial + data, b""
        position, end = 0, len(data)
        while position < end:
            if not self._frame_left:
                if end - position < _HEADER.size:
                    self._partial = data[position:]
                    return
                kind, self._frame_left = _HEADER.unpack_from(data, position)
                self._stream = _STREAMS.get(kind, "stderr")
                position += _HEADER.size
            piece = data[position : position + self._frame_left]
            position += len(piece)
            self._frame_left -= len(piece)
            if piece:
                yield self._stream, piece

    def read_all(self, moment: float) -> bytes:
        """All that comes on both streams, until the end or the moment."""
        read = bytearray()
        while time.monotonic() < moment and (pieces := self.receive(moment)) is not None:
            for _, piece in pieces:
                read += piece
        return bytes(read)

    def close(self) -> None:
        """Let go; the command is not ended by that."""
        self._socket.close()

    def _read_answer(self) -> bytes:
        """Read the engine's answer; what came after it already belongs to the streams."""
        answer = b""
        while b"\r\n\r\n" not in answer:
            data = self._socket.recv(_READ_BYTES)
            if not data or len(answer) > _LONGEST_ANSWER_BYTES:
                raise EngineUnavailableError("the container engine broke off its answer to the start of an exec")
            answer += data
        head, _, rest = answer.partition(b"\r\n\r\n")
        status = int(head.split(None, 2)[1])
        if status in (http.HTTPStatus.SWITCHING_PROTOCOLS, http.HTTPStatus.OK):
            return rest
        words = words_of(rest + self._rest_of(head, len(rest)))
        if status in _GONE:
            raise ContainerGoneError(f"the container is gone: {words}")
        raise StartRefusedError(words)

    def _rest_of(self, head: bytes, read_bytes: int) -> bytes:
        lengths = [
            line.partition(b":")[2] for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:")
        ]
        left_bytes = min(int(lengths[0]) if lengths else 0, _LONGEST_ANSWER_BYTES) - read_bytes
        body = b""
        while len(body) < left_bytes and (data := self._socket.recv(left_bytes - len(body))):
            body += data
        return body


def _request(path: str) -> bytes:
    body = b'{"Detach": false, "Tty": false}'
    head = (
        f"POST {path} HTTP/1.1\r\nHost: docker\r\nContent-Type: application/json\r\n"
        f"Content-Length: {len(body)}\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n\r\n"
    )
    return head.encode() + body
