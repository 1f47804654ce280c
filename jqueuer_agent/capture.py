"""Captured streams: all of a small one, the beginning and the end of an endless one, and never much memory."""

from __future__ import annotations

import base64
from collections.abc import Callable
from typing import Final

from jqueuer.records import LogRecord

INLINE_BYTES: Final = 4096
"""A log up to this size stands in the attempt's record: one write to the store instead of a file."""

_BUFFER_BYTES: Final = 65_536
_TAIL_BYTES: Final = 65_536


class LogCapture:
    """One stream of one attempt; ``write`` keeps bytes for good, from a position on."""

    def __init__(self, write: Callable[[int, bytes], None], limit_bytes: int) -> None:
        self._write = write
        self._tail_limit = min(_TAIL_BYTES, limit_bytes // 2)
        self._head_limit = limit_bytes - self._tail_limit
        self._head_taken = 0
        self._buffer = bytearray()
        self._tail = bytearray()
        self._total = 0
        self._written = 0

    def write(self, data: bytes) -> None:
        """Take what the command wrote."""
        self._total += len(data)
        head = data[: self._head_limit - self._head_taken]
        self._head_taken += len(head)
        self._buffer += head
        self._tail += data[len(head) :]
        if len(self._tail) > 2 * self._tail_limit:
            del self._tail[: -self._tail_limit]
        if len(self._buffer) >= _BUFFER_BYTES:
            self.flush()

    def flush(self) -> None:
        """Make what came so far readable by others; called at each heartbeat."""
        if self._buffer:
            self._write(self._written, bytes(self._buffer))
            self._written += len(self._buffer)
            self._buffer.clear()

    def close(self) -> LogRecord:
        """The stream has ended: what is to be remembered about it."""
        tail = self._tail[-self._tail_limit :]
        omitted = self._total - self._head_taken - len(tail)
        if omitted:
            self._buffer += f"\n[… {omitted} bytes left out …]\n".encode()
        self._buffer += tail
        if self._written or len(self._buffer) > INLINE_BYTES:
            self.flush()
            return LogRecord(total_bytes=self._total, truncated=omitted > 0)
        inline = base64.b64encode(self._buffer).decode() if self._buffer else None
        return LogRecord(total_bytes=self._total, truncated=omitted > 0, inline=inline)
