"""The statsd protocol: datagrams of lines, each ``NAME:VALUE|TYPE`` or with a sample rate ``NAME:VALUE|TYPE|@RATE``."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Final


class Kind(StrEnum):
    """What a sample is, in the words of the mapping file."""

    COUNTER = "counter"
    GAUGE = "gauge"
    OBSERVER = "observer"


_KINDS: Final = {"c": Kind.COUNTER, "g": Kind.GAUGE, "ms": Kind.OBSERVER, "h": Kind.OBSERVER, "d": Kind.OBSERVER}


@dataclass(frozen=True)
class Sample:
    """One value that somebody sent; timers are in seconds."""

    name: str
    kind: Kind
    value: float
    relative: bool = False
    """A gauge's value is to be added to what it is."""
    times: int = 1
    """It stands for so many of its like."""


def parse(datagram: bytes) -> Iterator[Sample]:
    """The samples of a datagram; lines that are none are left out."""
    for line in datagram.decode(errors="replace").splitlines():
        name, colon, rest = line.partition(":")
        sample = _sample(name, rest.split("|")) if name and colon else None
        if sample is not None:
            yield sample


def _sample(name: str, parts: list[str]) -> Sample | None:
    text, kind, rate = parts[0], _KINDS.get("".join(parts[1:2])), 1.0
    try:
        value = float(text)
        if len(parts) > 2:
            rate = float(parts[2].removeprefix("@")) or 1.0
    except ValueError:
        return None
    if kind is None or not math.isfinite(value) or not 0 < rate <= 1 or len(parts) > 3:
        return None
    if kind is Kind.COUNTER:
        return Sample(name, kind, value / rate) if value >= 0 else None
    if kind is Kind.GAUGE:
        return Sample(name, kind, value, relative=text[0] in "+-")
    return Sample(name, kind, value / 1000 if parts[1] == "ms" else value, times=int(1 / rate))
