"""Captured streams: what is kept of them, and what is not lost while nobody can keep it."""

from __future__ import annotations

import base64
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jqueuer.errors import RefusedError, StoreUnavailableError
from jqueuer_agent.capture import INLINE_BYTES, LogCapture


@given(st.lists(st.binary(max_size=3000), max_size=30), st.integers(min_value=2048, max_value=20_000))
def test_a_captured_stream_keeps_its_beginning_and_its_end_within_its_limit(pieces: list[bytes], limit: int) -> None:
    kept = bytearray()

    def keep(start: int, data: bytes) -> None:
        assert start == len(kept)
        kept.extend(data)

    capture = LogCapture(keep, limit)
    for number, piece in enumerate(pieces):
        capture.write(piece)
        if number % 7 == 3:
            capture.flush()
    record = capture.close()
    whole = b"".join(pieces)
    stored = base64.b64decode(record.inline) if record.inline else bytes(kept)
    assert record.total_bytes == len(whole)
    if len(whole) <= limit:
        assert stored == whole
        assert not record.truncated
    else:
        head, _, rest = stored.partition("\n[… ".encode())
        omitted, _, tail = rest.partition(" bytes left out …]\n".encode())
        assert record.truncated
        assert whole.startswith(head)
        assert whole.endswith(tail)
        assert len(head) + int(omitted) + len(tail) == len(whole)
        assert len(head) + len(tail) == limit
    assert record.inline is None or len(stored) <= INLINE_BYTES


class Keeper:
    """Takes bytes, unless it is away or refuses."""

    def __init__(self) -> None:
        self.kept = bytearray()
        self.error: Exception | None = None

    def __call__(self, start: int, data: bytes) -> None:
        if self.error is not None:
            raise self.error
        self.kept[start:] = data


def test_while_its_keeper_is_away_a_stream_is_held_back_within_its_limit() -> None:
    """Its command is not disturbed; afterwards beginning and end are there."""
    keeper = Keeper()
    capture = LogCapture(keeper, 400_000)
    capture.write(b"early\n")
    capture.flush()
    keeper.error = StoreUnavailableError()
    for _ in range(1000):
        capture.write(b"." * 10_000)
        capture.flush()
    capture.write(b"late\n")
    assert sys.getsizeof(capture._buffer) + sys.getsizeof(capture._tail) < 1_000_000
    for _ in range(3):
        with pytest.raises(StoreUnavailableError):
            capture.close()
    keeper.error = None
    record = capture.close()
    assert (record.total_bytes, record.truncated, record.inline) == (6 + 10_000_000 + 5, True, None)
    assert keeper.kept.startswith(b"early\n....")
    assert keeper.kept.endswith(b"....late\n")
    assert keeper.kept.count(b"bytes left out") == 1
    assert capture.close() == record


def test_a_stream_that_is_refused_says_why_and_goes_on() -> None:
    keeper = Keeper()
    capture = LogCapture(keeper, 400_000)
    keeper.error = RefusedError("too much")
    for _ in range(100):
        capture.write(b"." * 10_000)
    assert capture.close().truncated
    assert capture.refusal == "too much"
