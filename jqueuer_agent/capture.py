"""Captured streams: all of a small one, the beginning and the end of an endless one, and never much memory."""

from __future__ import annotations

import base64
import time
from collections.abc import Callable
from typing import Final

from jqueuer.errors import JQueuerError, StoreUnavailableError
from jqueuer.records import LogRecord

INLINE_BYTES: Final = 4096
"""A log up to this size stands in the attempt's record: one write to the store instead of a file."""

_BUFFER_BYTES: Final = 65_536
_TAIL_BYTES: Final = 65_536
_PAUSE_SECONDS: Final = 5.0
"""Trying to reach a machine that is gone takes seconds, during which a command is not looked after."""


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
        self._omitted = 0
        self._not_before = 0.0
        self._closed = False
        self.refusal = ""
        """Why the bytes are not kept, in words, where whoever keeps them refused."""

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
        """Make what came so far readable by others; called at each heartbeat.

        While whoever keeps it is away it stays here, which is never more than the limit, and is tried now and then.
        """
        if time.monotonic() < self._not_before:
            return
        try:
            self._hand_over()
        except StoreUnavailableError:
            self._not_before = time.monotonic() + _PAUSE_SECONDS

    def _hand_over(self) -> None:
        if not self._buffer:
            return
        try:
            if not self.refusal:
                self._write(self._written, bytes(self._buffer))
        except StoreUnavailableError:
            raise
        except (OSError, JQueuerError) as error:
            self.refusal = str(error)
        self._written += len(self._buffer)
        self._buffer.clear()

    def close(self) -> LogRecord:
        """The stream has ended: what is to be remembered about it.

        :class:`~jqueuer.errors.StoreUnavailableError` where its bytes could not be handed over: to be called again.
        """
        if not self._closed:
            self._closed = True
            tail = self._tail[-self._tail_limit :]
            self._omitted = self._total - self._head_taken - len(tail)
            if self._omitted:
                self._buffer += f"\n[… {self._omitted} bytes left out …]\n".encode()
            self._buffer += tail
        if self._written or len(self._buffer) > INLINE_BYTES:
            self._hand_over()
        return self.record()

    def record(self) -> LogRecord:
        """What is known about the stream; a small one stands in it."""
        small = not self._written and len(self._buffer) <= INLINE_BYTES
        return LogRecord(
            total_bytes=self._total,
            truncated=self._omitted > 0 or bool(self.refusal) or bool(self._buffer and not small),
            inline=base64.b64encode(self._buffer).decode() if self._buffer and small else None,
        )
