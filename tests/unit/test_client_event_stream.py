"""Server-sent events as the client reads them."""

from __future__ import annotations

import pytest

from jqueuer.client.event_stream import events_of

STREAM = (
    'retry: 2000\n\nevent: experiment\ndata: {"name": "Größe"}\n\n:\n\nevent: deleted\ndata: {}\n\n'
    "data: 1\n\nevent: nothing\n\nevent: begun\ndata: 2"
).encode()
EVENTS = [("experiment", {"name": "Größe"}), ("deleted", {}), ("message", 1)]


@pytest.mark.parametrize("size", [1, 2, 7, 1000])
def test_events_are_the_same_however_their_bytes_arrive(size: int) -> None:
    chunks = [STREAM[start : start + size] for start in range(0, len(STREAM), size)]
    assert list(events_of(chunks)) == EVENTS, "comments say nothing, nor does what broke off"


def test_an_event_is_told_with_its_last_line() -> None:
    events = events_of(iter([b"data: 1\n\n", b"data: 2\n"]))
    assert next(events) == ("message", 1)


def test_data_on_several_lines_is_one_document() -> None:
    assert list(events_of([b"data: [1,\ndata: 2]\n\n"])) == [("message", [1, 2])]


def test_what_is_no_json_is_an_error() -> None:
    with pytest.raises(ValueError):
        list(events_of([b"data: nonsense\n\n"]))
