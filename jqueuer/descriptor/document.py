"""From bytes to plain values: which notation a description is written in, and the lines of what it says."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, replace
from typing import Any

from jqueuer.descriptor.events import MAX_DEPTH, MAX_DIGITS, Event, build, locate
from jqueuer.descriptor.faults import Path, fault
from jqueuer.descriptor.literal import literal_events
from jqueuer.descriptor.yamltext import yaml_events
from jqueuer.errors import DescriptionError
from jqueuer.kinds import WrittenFloat
from jqueuer.units import shown

_JSON_START = re.compile(r'\s*(?:\{\s*["}]|\[)')
_LITERAL_START = re.compile(r"(?:\s|#[^\n]*\n|//[^\n]*\n)*\{")
_KEY_OF_2018 = re.compile(
    r"""["'](?:image_url|service_name|container_name|experiment_deadline|single_task_duration|replica_m(?:in|ax)|"""
    r"""reserve_(?:cpu|memory))["']\s*:"""
)
_SURROGATE_ESCAPE = re.compile(r"\\u[dD][89a-fA-F]")


@dataclass(frozen=True)
class Document:
    """A description as written: plain values, and where they stand."""

    value: dict[str, Any]
    _events: Callable[[], Iterator[Event]]

    def lines(self, paths: Collection[Path]) -> dict[Path, int]:
        """The line of each path; of the nearest thing around it where it is not in the text."""
        return locate(self._events(), paths)


def read_document(data: bytes) -> Document:
    """Parse a description; :class:`~jqueuer.errors.DescriptionError` where it is not text, or no mapping."""
    text = _decode(data)
    value, events = _parse(text)
    if not isinstance(value, dict):
        raise fault("expected a mapping with the experiment's keys, such as 'jobs:'", line=1)
    return Document(value, lambda: events(text))


def read_json_line(data: bytes, number: int) -> dict[str, Any]:
    """One line of JSON Lines; the faults carry its number."""
    try:
        value = _json(_decode(data))
    except json.JSONDecodeError as error:
        raise fault(f"not valid JSON: {_lower(error.msg)} (column {error.colno})", line=number) from None
    except DescriptionError as error:
        raise DescriptionError(tuple(replace(found, line=number) for found in error.faults)) from None
    if not isinstance(value, dict):
        raise fault(f"expected a mapping, got {shown(value)}", line=number)
    return value


def _decode(data: bytes) -> str:
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise fault(f"not valid UTF-8: byte {error.start} is 0x{data[error.start]:02x}", line=line) from None
    if "\x00" in text:
        raise fault("a NUL character cannot stand in a description", line=text.count("\n", 0, text.index("\x00")) + 1)
    if not text.strip():
        raise fault("the description is empty")
    return text


def _parse(text: str) -> tuple[Any, Callable[[str], Iterator[Event]]]:
    of_2018 = _LITERAL_START.match(text) is not None and _KEY_OF_2018.search(text) is not None
    if _JSON_START.match(text):
        try:
            return _json(text), literal_events
        except json.JSONDecodeError as error:
            if not of_2018:
                message = f"not valid JSON: {_lower(error.msg)} (column {error.colno})"
                raise fault(message, line=error.lineno) from None
    if of_2018:
        return build(literal_events(text)), literal_events
    return build(yaml_events(text)), yaml_events


def _lower(message: str) -> str:
    return message[:1].lower() + message[1:]


class _DoubtfulError(ValueError):
    """Something only the careful reader can judge, and name the line of."""


def _json(text: str) -> Any:
    """Strict JSON. What the standard library would let pass is left to the careful, slower reader to refuse."""
    try:
        value = json.loads(
            text, object_pairs_hook=_mapping, parse_int=_integer, parse_float=_float, parse_constant=_refuse
        )
    except (_DoubtfulError, RecursionError):
        return build(literal_events(text))
    if _too_deep(value) or _SURROGATE_ESCAPE.search(text):
        return build(literal_events(text))
    return value


def _mapping(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    mapping = dict(pairs)
    if len(mapping) != len(pairs):
        raise _DoubtfulError
    return mapping


def _integer(digits: str) -> int:
    if len(digits) > MAX_DIGITS:
        raise _DoubtfulError
    return int(digits)


def _float(digits: str) -> float:
    number = WrittenFloat(digits)
    if not math.isfinite(number):
        raise _DoubtfulError
    return number


def _refuse(_: str) -> Any:
    raise _DoubtfulError


def _too_deep(value: Any) -> bool:
    level = [value]
    for _ in range(MAX_DEPTH + 1):
        if not level:
            return False
        level = [
            child
            for parent in level
            if isinstance(parent, dict | list)
            for child in (parent.values() if isinstance(parent, dict) else parent)
            if isinstance(child, dict | list)
        ]
    return bool(level)
