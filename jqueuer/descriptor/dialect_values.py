"""How the 2018 dialects write numbers and durations."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any, TypeVar

from pydantic import TypeAdapter

from jqueuer.descriptor.validation import check
from jqueuer.units import parse_duration, shown

Converted = TypeVar("Converted")

_DURATION = re.compile(r"([0-9]+)\s*#\s*([smhd])", re.IGNORECASE)


def whole_number(value: Any, least: int, most: int) -> int:
    """A number written as one or as text, within bounds; :class:`ValueError` says what was expected."""
    if isinstance(value, str) and value.strip().isascii() and value.strip().isdigit() and len(value) < 20:
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise ValueError(f"expected a whole number between {least} and {most}, got {shown(value)}")
    return value


def duration(value: Any) -> float:
    """Seconds from ``"90#m"`` or a number of them; :class:`ValueError` says what was expected."""
    if isinstance(value, str):
        match = _DURATION.fullmatch(value.strip())
        if match is None and not value.strip().isdigit():
            raise ValueError(f"expected a duration such as 90#m (s, m, h or d) or seconds, got {shown(value)}")
        value = "".join(match.groups()).lower() if match else f"{value.strip()}s"
    return parse_duration(value)


def cores_of(value: Any) -> float:
    """Cores from ``"0.1"`` or a number; :class:`ValueError` says what was expected."""
    try:
        cores = float(value) if isinstance(value, str | int | float) and not isinstance(value, bool) else math.nan
    except ValueError:
        cores = math.nan
    if not 0 < cores <= 100_000:
        raise ValueError(f"expected a number of cores such as 0.1, got {shown(value)}")
    return cores


def positive(convert: Callable[[Any], Converted]) -> Callable[[Any], Converted]:
    """A conversion that refuses zero."""

    def converted(value: Any) -> Converted:
        result = convert(value)
        if not result:
            raise ValueError(f"expected more than 0, got {shown(value)}")
        return result

    return converted


def checked(adapter: TypeAdapter[str]) -> Callable[[Any], str]:
    """A conversion that takes what the native format takes."""

    def converted(value: Any) -> str:
        problem = check(adapter, value)
        if problem is not None:
            raise ValueError(problem)
        return str(value)

    return converted
