"""Durations and sizes as people write them: ``90m``, ``1h30m``, ``PT1H30M``; ``200MiB``, ``200mb``."""

from __future__ import annotations

import re
from typing import Annotated, Any

from pydantic import BeforeValidator, PlainSerializer, WithJsonSchema

_UNIT_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86_400.0, "w": 604_800.0}
_DURATION = re.compile(r"(?:\d+(?:\.\d+)?(?:ms|[smhdw]))+")
_DURATION_PART = re.compile(r"(\d+(?:\.\d+)?)(ms|[smhdw])")
_ISO_8601 = re.compile(
    r"P(?=.)(?:(?P<w>\d+(?:\.\d+)?)W)?(?:(?P<d>\d+(?:\.\d+)?)D)?"
    r"(?:T(?=.)(?:(?P<h>\d+(?:\.\d+)?)H)?(?:(?P<m>\d+(?:\.\d+)?)M)?(?:(?P<s>\d+(?:\.\d+)?)S)?)?",
    re.IGNORECASE,
)
_UNIT_BYTES = {"": 1, "k": 1000, "m": 1000**2, "g": 1000**3, "t": 1000**4}
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([kmgt]?)(i?)b?", re.IGNORECASE)
MAX_DURATION_SECONDS = 366 * 86_400.0


def parse_duration(value: Any) -> float:
    """Seconds from ``"90m"``, ``"1h30m"``, ``"PT1H30M"`` or a number of seconds.

    Raises :class:`ValueError` with what was expected. Negative and absurdly long ones (over 366 days) are refused.
    """
    seconds = _seconds(value)
    if not 0 <= seconds <= MAX_DURATION_SECONDS:
        raise ValueError(f"expected a duration between 0 and 366 days, got {value!r}")
    return seconds


def _seconds(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise ValueError(f"expected a duration such as 90s, 1h30m or PT1H30M, got {value!r}")
    if isinstance(value, int | float):
        return float(value)
    text = value.strip()
    if _DURATION.fullmatch(text):
        return sum(float(number) * _UNIT_SECONDS[unit] for number, unit in _DURATION_PART.findall(text))
    if match := _ISO_8601.fullmatch(text):
        return sum(float(number) * _UNIT_SECONDS[unit] for unit, number in match.groupdict().items() if number)
    raise ValueError(f"expected a duration such as 90s, 1h30m or PT1H30M, got {value!r}")


def format_duration(seconds: float) -> str:
    """A duration that :func:`parse_duration` reads back exactly: ``5400.0`` → ``"1h30m"``."""
    if seconds != int(seconds):
        return f"{seconds!r}s" if "e" not in repr(seconds) else f"{seconds:.9f}s"
    rest, parts = int(seconds), []
    for unit in ("d", "h", "m", "s"):
        count, rest = divmod(rest, int(_UNIT_SECONDS[unit]))
        if count:
            parts.append(f"{count}{unit}")
    return "".join(parts) or "0s"


def parse_size(value: Any) -> int:
    """Bytes from ``"200MiB"`` (binary), ``"200mb"`` (decimal) or a number of bytes; :class:`ValueError` otherwise."""
    if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
        return value
    if isinstance(value, str) and (match := _SIZE.fullmatch(value.strip())):
        number, unit, binary = match.groups()
        scale = _UNIT_BYTES[unit.lower()]
        if binary and not unit:
            raise ValueError(f"expected a size such as 200MiB or 1GB, got {value!r}")
        if binary:
            scale = 1024 ** ("kmgt".index(unit.lower()) + 1)
        return int(float(number) * scale)
    raise ValueError(f"expected a size such as 200MiB or 1GB, got {value!r}")


def format_size(size_bytes: int) -> str:
    """A size that :func:`parse_size` reads back exactly: ``209715200`` → ``"200MiB"``."""
    for unit, scale in (("TiB", 1024**4), ("GiB", 1024**3), ("MiB", 1024**2), ("KiB", 1024)):
        if size_bytes and size_bytes % scale == 0:
            return f"{size_bytes // scale}{unit}"
    return f"{size_bytes}B"


Duration = Annotated[
    float,
    BeforeValidator(parse_duration),
    PlainSerializer(format_duration, return_type=str, when_used="json"),
    WithJsonSchema(
        {
            "description": "A duration: 90s, 1h30m, PT1H30M, or a number of seconds",
            "anyOf": [
                {"type": "number", "minimum": 0},
                {"type": "string", "pattern": r"^(\d+(\.\d+)?(ms|[smhdw]))+$|^[Pp].+$"},
            ],
        }
    ),
]
"""Seconds; reads every form :func:`parse_duration` reads, prints ``1h30m`` in JSON."""

ByteSize = Annotated[
    int,
    BeforeValidator(parse_size),
    PlainSerializer(format_size, return_type=str, when_used="json"),
    WithJsonSchema(
        {
            "description": "A size: 200MiB, 1GB, or a number of bytes",
            "anyOf": [
                {"type": "integer", "minimum": 0},
                {"type": "string", "pattern": r"^\d+(\.\d+)?\s*[kKmMgGtT]?i?[bB]?$"},
            ],
        }
    ),
]
"""Bytes; reads every form :func:`parse_size` reads, prints ``200MiB`` in JSON."""
