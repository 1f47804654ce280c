"""The kinds of text and numbers a description is made of: ids, words, paths, names, URLs."""

from __future__ import annotations

import math
import re
from typing import Annotated, Any
from urllib.parse import urlsplit

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    PlainSerializer,
    PlainValidator,
    StringConstraints,
    WithJsonSchema,
)

from jqueuer.units import shown

JOB_ID_PATTERN = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$"
EXPERIMENT_NAME_PATTERN = r"^[A-Za-z0-9][A-Za-z0-9 ._-]{0,62}$"
_IMAGE_PART = r"[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*"
IMAGE_PATTERN = (
    rf"^(?:[A-Za-z0-9][A-Za-z0-9.-]*(?::[0-9]+)?/)?{_IMAGE_PART}(?:/{_IMAGE_PART})*"
    r"(?::[A-Za-z0-9_][A-Za-z0-9_.-]{0,127})?(?:@sha256:[0-9a-f]{64})?$"
)
"""A reference as Docker defines it; nothing else may become part of a request to the engine."""
ENVIRONMENT_NAME_PATTERN = r"^[A-Za-z_][A-Za-z0-9_]*$"
SHA256_PATTERN = r"^[0-9a-f]{64}$"
ABSOLUTE_PATH_PATTERN = r"^/[^\x00]*$"
TEXT_PATTERN = r"^[^\x00]*$"
TIME_OF_DAY_PATTERN = r"^(?:[01]?[0-9]|2[0-3]):[0-5][0-9](?::[0-5][0-9])?$|^24:00(?::00)?$"
TIME_ZONE_PATTERN = r"^(?:[+-](?:0[0-9]|1[0-4]):[0-5][0-9]|[A-Za-z][A-Za-z0-9_+-]*(?:/[A-Za-z0-9_+-]+)*)$"
"""An offset from UTC such as ``+05:30``, or a name of the time zone database; whether that exists is another matter."""

MAX_CONTAINERS = 10_000
LEAST_AMOUNT, MAX_AMOUNT = 1e-9, 1_000_000_000
"""Of money, of container-hours."""

RESERVED_PREFIX = "JQUEUER_"
"""Environment variables that begin like this are set for the job, not by it."""


class WrittenFloat(float):
    """A number that remembers how it was written, so that as a word of a command ``1.10`` stays ``1.10``."""

    def __init__(self, text: str) -> None:
        self.text = text


def word(value: Any) -> Any:
    """Numbers and booleans as the words of a command or an environment: ``5`` → ``"5"``, ``true`` → ``"true"``."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, WrittenFloat):
        return value.text
    return str(value) if isinstance(value, int | float) and math.isfinite(value) else value


def check_relative_path(path: str) -> str:
    """The path (or glob) if it stays inside the working directory; :class:`ValueError` says why it does not."""
    if "\x00" in path:
        raise ValueError("a path cannot contain a NUL character")
    if path.startswith("/"):
        raise ValueError(f"expected a path relative to the working directory, got the absolute path {shown(path)}")
    parts = path.split("/")
    if ".." in parts:
        raise ValueError(f"expected a path inside the working directory, got {shown(path)} with '..'")
    if all(part in ("", ".") for part in parts):
        raise ValueError(f"expected a path to a file, got {shown(path)}")
    return path


def check_working_directory(path: str) -> str:
    """The path if a relative one stays below where containers keep theirs; :class:`ValueError` otherwise."""
    if not path.startswith("/") and ".." in path.split("/"):
        raise ValueError(f"expected an absolute path, or a relative one without '..', got {shown(path)}")
    return path


def check_environment_name(name: str) -> str:
    """The name if jobs may set it; :class:`ValueError` otherwise."""
    if name.startswith(RESERVED_PREFIX):
        raise ValueError(f"names that begin with {RESERVED_PREFIX} are reserved; choose another than {shown(name)}")
    return name


def check_url(url: str) -> str:
    """The URL if it is one of HTTP with a host; :class:`ValueError` otherwise."""
    try:
        parts = urlsplit(url)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        usable = False
    if not usable or any(character.isspace() or character < " " for character in url):
        raise ValueError(f"expected a URL such as http://policy.example:8000/containers, got {shown(url)}")
    return url


def check_first_word(argv: tuple[str, ...]) -> tuple[str, ...]:
    """The argument vector if it names a program; :class:`ValueError` otherwise."""
    if not argv[0]:
        raise ValueError("the first word of a command names the program and cannot be empty")
    return argv


def plain(value: str | int | float | bool) -> str | int | float | bool:
    """The value without the memory of how it was written."""
    return float(value) if isinstance(value, WrittenFloat) else value


def check_scalar(value: Any) -> str | int | float | bool:
    """Text, a finite number or a boolean as it is; :class:`ValueError` for everything else."""
    if isinstance(value, str) and "\x00" in value:
        raise ValueError("a NUL character cannot stand here")
    if isinstance(value, str | bool) or (isinstance(value, int | float) and math.isfinite(value)):
        return value
    raise ValueError(f"expected text, a finite number, true or false, got {shown(value)}")


def parse_time_of_day(value: Any) -> int:
    """Seconds since midnight from ``"08:30"`` or ``"08:30:15"``; ``"24:00"`` is the end of the day.

    Raises :class:`ValueError` with what was expected.
    """
    if not isinstance(value, str) or not re.fullmatch(TIME_OF_DAY_PATTERN, value):
        raise ValueError(f'expected a time of day such as "08:30", got {shown(value)}')
    hours, minutes, seconds = (*map(int, value.split(":")), 0)[:3]
    return hours * 3600 + minutes * 60 + seconds


def format_time_of_day(second: int) -> str:
    """A time of day that :func:`parse_time_of_day` reads back exactly: ``30600`` → ``"08:30"``."""
    minutes, seconds = divmod(second, 60)
    return f"{minutes // 60:02d}:{minutes % 60:02d}" + (f":{seconds:02d}" if seconds else "")


def check_positive_number(value: Any) -> int | float:
    """A number above 0 as it is; :class:`ValueError` otherwise."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not LEAST_AMOUNT <= value <= MAX_AMOUNT:
        raise ValueError(f"expected a number above 0, {MAX_AMOUNT:,} at most, got {shown(value)}")
    return float(value) if isinstance(value, WrittenFloat) else value


JobId = Annotated[str, StringConstraints(pattern=JOB_ID_PATTERN), BeforeValidator(word)]
"""A job's name within its experiment: letters, digits, dot, dash, underscore; never a path."""

Text = Annotated[str, StringConstraints(pattern=TEXT_PATTERN, min_length=1)]
Argument = Annotated[
    str,
    StringConstraints(pattern=TEXT_PATTERN),
    BeforeValidator(word),
    WithJsonSchema({"type": ["string", "number", "boolean"]}),
]
Argv = Annotated[tuple[Argument, ...], Field(min_length=1), AfterValidator(check_first_word)]
EnvironmentName = Annotated[
    str, StringConstraints(pattern=ENVIRONMENT_NAME_PATTERN), AfterValidator(check_environment_name)
]
RelativePath = Annotated[str, StringConstraints(min_length=1, max_length=1024), AfterValidator(check_relative_path)]
WorkingDirectory = Annotated[Text, AfterValidator(check_working_directory)]
AbsolutePath = Annotated[str, StringConstraints(pattern=ABSOLUTE_PATH_PATTERN, max_length=1024)]
WholeNumber = Annotated[int, Field(strict=True)]
Cores = Annotated[float, Field(strict=True, gt=0, le=100_000)]
ExperimentName = Annotated[str, StringConstraints(pattern=EXPERIMENT_NAME_PATTERN)]
ServiceName = Annotated[str, StringConstraints(pattern=JOB_ID_PATTERN)]
Image = Annotated[str, StringConstraints(pattern=IMAGE_PATTERN, max_length=512)]
Url = Annotated[str, AfterValidator(check_url)]
Sha256 = Annotated[str, StringConstraints(pattern=SHA256_PATTERN)]
WrittenScalar = Annotated[
    str | int | float | bool,
    PlainValidator(check_scalar),
    WithJsonSchema({"type": ["string", "number", "boolean"]}),
]
Scalar = Annotated[WrittenScalar, AfterValidator(plain)]
PositiveNumber = Annotated[
    int | float,
    PlainValidator(check_positive_number),
    WithJsonSchema({"type": "number", "minimum": LEAST_AMOUNT, "maximum": MAX_AMOUNT}),
]
TimeOfDay = Annotated[
    int,
    PlainValidator(parse_time_of_day),
    PlainSerializer(format_time_of_day, return_type=str, when_used="json"),
    WithJsonSchema({"type": "string", "pattern": TIME_OF_DAY_PATTERN}),
]
"""Seconds since midnight, written ``"08:30"``."""
TimeZone = Annotated[str, StringConstraints(pattern=TIME_ZONE_PATTERN, max_length=64)]
