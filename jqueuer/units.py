"""Durations, sizes and deadlines as people write them: ``90m``, ``1h30m``, ``PT1H30M``; ``200MiB``, ``200mb``."""

from __future__ import annotations

import re
from datetime import datetime
from decimal import Decimal
from typing import Annotated, Any

from pydantic import BeforeValidator, PlainSerializer, PlainValidator, WithJsonSchema

_UNIT_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86_400.0, "w": 604_800.0}
_DURATION = re.compile(r"(?:[0-9]+(?:\.[0-9]+)?(?:ms|[smhdw]))+")
_DURATION_PART = re.compile(r"([0-9]+(?:\.[0-9]+)?)(ms|[smhdw])")
_ISO_8601 = re.compile(
    r"P(?=.)(?:(?P<w>[0-9]+(?:\.[0-9]+)?)W)?(?:(?P<d>[0-9]+(?:\.[0-9]+)?)D)?"
    r"(?:T(?=.)(?:(?P<h>[0-9]+(?:\.[0-9]+)?)H)?(?:(?P<m>[0-9]+(?:\.[0-9]+)?)M)?(?:(?P<s>[0-9]+(?:\.[0-9]+)?)S)?)?",
    re.IGNORECASE,
)
_UNIT_BYTES = {"": 1, "k": 1000, "m": 1000**2, "g": 1000**3, "t": 1000**4}
_SIZE = re.compile(r"([0-9]+(?:\.[0-9]+)?)\s*([kmgt]?)(i?)b?", re.IGNORECASE)
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_LONGEST_TEXT = 64
_EARLIEST_YEAR, _LATEST_YEAR = 2000, 2999
MAX_DURATION_SECONDS = 366 * 86_400.0
MAX_SIZE_BYTES = 2**60


def shown(value: Any) -> str:
    """A value as an error message quotes it: never long, never a whole structure."""
    if value is None:
        return "nothing"
    if isinstance(value, dict):
        return "a mapping"
    if isinstance(value, list | tuple):
        return "a list"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int) and abs(value) >= 10**_LONGEST_TEXT:
        return "a number with very many digits"
    text = repr(value) if isinstance(value, str | int | float) else str(value)
    return text if len(text) <= _LONGEST_TEXT else f"{text[: _LONGEST_TEXT - 1]}…"


def parse_duration(value: Any) -> float:
    """Seconds from ``"90m"``, ``"1h30m"``, ``"PT1H30M"`` or a number of seconds.

    Raises :class:`ValueError` with what was expected. Negative and absurdly long ones (over 366 days) are refused.
    """
    seconds = _seconds(value)
    if not 0 <= seconds <= MAX_DURATION_SECONDS:
        raise ValueError(f"expected a duration between 0 and 366 days, got {shown(value)}")
    return float(seconds)


def _seconds(value: Any) -> float:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return value
    text = value.strip() if isinstance(value, str) else ""
    if _DURATION.fullmatch(text):
        return sum(float(number) * _UNIT_SECONDS[unit] for number, unit in _DURATION_PART.findall(text))
    if match := _ISO_8601.fullmatch(text):
        return sum(float(number) * _UNIT_SECONDS[unit] for unit, number in match.groupdict().items() if number)
    raise ValueError(f"expected a duration such as 90s, 1h30m or PT1H30M, got {shown(value)}")


def format_duration(seconds: float) -> str:
    """A duration that :func:`parse_duration` reads back exactly: ``5400.0`` → ``"1h30m"``."""
    if seconds != int(seconds):
        return f"{Decimal(repr(seconds)):f}s"
    rest, parts = int(seconds), []
    for unit in ("d", "h", "m", "s"):
        count, rest = divmod(rest, int(_UNIT_SECONDS[unit]))
        if count:
            parts.append(f"{count}{unit}")
    return "".join(parts) or "0s"


def parse_size(value: Any) -> int:
    """Bytes from ``"200MiB"`` (binary), ``"200mb"`` (decimal) or a number of bytes; :class:`ValueError` otherwise."""
    size_bytes = _bytes(value)
    if not 0 <= size_bytes <= MAX_SIZE_BYTES:
        raise ValueError(f"expected a size between 0 and 1 EiB, got {shown(value)}")
    return size_bytes


def _bytes(value: Any) -> int:
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    if isinstance(value, str) and len(value) <= _LONGEST_TEXT and (match := _SIZE.fullmatch(value.strip())):
        number, unit, binary = match.groups()
        if unit or not binary:
            scale = 1024 ** ("kmgt".index(unit.lower()) + 1) if binary else _UNIT_BYTES[unit.lower()]
            return int(Decimal(number) * scale)
    raise ValueError(f"expected a size such as 200MiB or 1GB, got {shown(value)}")


def format_size(size_bytes: int) -> str:
    """A size that :func:`parse_size` reads back exactly: ``209715200`` → ``"200MiB"``."""
    for unit, scale in (("TiB", 1024**4), ("GiB", 1024**3), ("MiB", 1024**2), ("KiB", 1024)):
        if size_bytes and size_bytes % scale == 0:
            return f"{size_bytes // scale}{unit}"
    return f"{size_bytes}B"


def parse_deadline(value: Any) -> float | datetime:
    """A deadline: relative, seconds from receipt, or absolute, a date and time with its time zone.

    Raises :class:`ValueError` with what was expected, for a time without a zone too: nobody can know which was meant.
    """
    if isinstance(value, str) and _DATE.match(value.strip()):
        try:
            value = datetime.fromisoformat(value.strip())
        except ValueError:
            raise ValueError(
                f"expected a date and time such as 2030-12-31T18:00:00+01:00, got {shown(value)}"
            ) from None
    if isinstance(value, datetime):
        if value.utcoffset() is None:
            raise ValueError(
                f"the time {value.isoformat()} lacks its time zone: add Z (UTC) or an offset such as +01:00"
            )
        if not _EARLIEST_YEAR <= value.year <= _LATEST_YEAR:
            raise ValueError(f"expected a year between {_EARLIEST_YEAR} and {_LATEST_YEAR}, got {value.year}")
        return value
    seconds = parse_duration(value)
    if seconds <= 0:
        raise ValueError(f"expected a deadline after the start, got {shown(value)}")
    return seconds


def format_deadline(deadline: float | datetime) -> str:
    """A deadline that :func:`parse_deadline` reads back exactly."""
    return deadline.isoformat() if isinstance(deadline, datetime) else format_duration(deadline)


_DURATION_SCHEMA: dict[str, Any] = {
    "description": "A duration: 90s, 1h30m, PT1H30M, or a number of seconds",
    "anyOf": [
        {"type": "number", "minimum": 0, "maximum": MAX_DURATION_SECONDS},
        {"type": "string", "pattern": r"^\s*(([0-9]+(\.[0-9]+)?(ms|[smhdw]))+|[Pp][0-9.wdhmstWDHMST]+)\s*$"},
    ],
}

Duration = Annotated[
    float,
    BeforeValidator(parse_duration),
    PlainSerializer(format_duration, return_type=str, when_used="json"),
    WithJsonSchema(_DURATION_SCHEMA),
]
"""Seconds; reads every form :func:`parse_duration` reads, prints ``1h30m`` in JSON."""

_MOMENT_PATTERN = r"^\s*[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt ][0-9:.,]+([Zz]|[+-][0-9:.]{2,15})\s*$"

Deadline = Annotated[
    float | datetime,
    PlainValidator(parse_deadline),
    PlainSerializer(format_deadline, return_type=str, when_used="json"),
    WithJsonSchema(
        {
            "description": "Relative to receipt (90m), or a date and time with its zone (2030-12-31T18:00:00+01:00)",
            "anyOf": [
                *_DURATION_SCHEMA["anyOf"],
                {"type": "string", "pattern": _MOMENT_PATTERN},
            ],
        }
    ),
]
"""Seconds from receipt, or a moment; reads every form :func:`parse_deadline` reads."""

ByteSize = Annotated[
    int,
    BeforeValidator(parse_size),
    PlainSerializer(format_size, return_type=str, when_used="json"),
    WithJsonSchema(
        {
            "description": "A size: 200MiB, 1GB, or a number of bytes",
            "anyOf": [
                {"type": "integer", "minimum": 0, "maximum": MAX_SIZE_BYTES},
                {"type": "string", "pattern": r"^\s*[0-9]+(\.[0-9]+)?\s*([kKmMgGtT]i?)?[bB]?\s*$"},
            ],
        }
    ),
]
"""Bytes; reads every form :func:`parse_size` reads, prints ``200MiB`` in JSON."""
