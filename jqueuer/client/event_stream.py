"""Server-sent events, as the manager sends them: lines become events."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any


def events_of(chunks: Iterable[bytes]) -> Iterator[tuple[str, Any]]:
    """The name of each event and its data, as soon as its last line is there; what is no JSON raises ValueError.

    Comments, by which the manager says that nothing has happened, are left out.
    """
    name, data = "", ""
    for line in _lines(chunks):
        if not line:
            if data:
                yield name or "message", json.loads(data)
            name, data = "", ""
            continue
        field, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if field == "event":
            name = value
        elif field == "data":
            data = f"{data}\n{value}" if data else value


def _lines(chunks: Iterable[bytes]) -> Iterator[str]:
    rest = bytearray()
    for chunk in chunks:
        rest += chunk
        *whole, last = rest.split(b"\n")
        rest = last
        yield from (bytes(line).decode() for line in whole)
