"""YAML as events, by the parser only: no constructor runs, so no document can make anything but plain values.

Plain scalars mean what they mean in JSON and YAML 1.2: ``yes`` and ``12:30`` are text, not a boolean and a number; and
a number remembers how it was written, for where it becomes a word of a command.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from typing import Any

import yaml

from jqueuer.descriptor.events import MAX_DIGITS, MERGE_KEY, Event, Kind
from jqueuer.descriptor.faults import fault
from jqueuer.kinds import WrittenFloat
from jqueuer.units import shown

# the parser written in C where it was built, the same one in Python elsewhere; mypy knows only the latter
_Loader: type[yaml.SafeLoader] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

_STANDARD = "tag:yaml.org,2002:"
_TAGS = {_STANDARD + name for name in ("str", "int", "float", "bool", "null", "seq", "map")}
_INTEGER = re.compile(r"0|-?[1-9][0-9]*")
_FLOAT = re.compile(r"[-+]?(?:(?:0|[1-9][0-9]*)(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][-+]?[0-9]+)?")
_NAMES: dict[str, Any] = {
    "": None,
    "~": None,
    **dict.fromkeys(("null", "Null", "NULL"), None),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
    **dict.fromkeys((".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF"), math.inf),
    **dict.fromkeys(("-.inf", "-.Inf", "-.INF"), -math.inf),
    **dict.fromkeys((".nan", ".NaN", ".NAN"), math.nan),
}


def plain_value(text: str) -> Any:
    """What an unquoted scalar means: null, a boolean, a number, or the text itself."""
    if text in _NAMES:
        return _NAMES[text]
    if _INTEGER.fullmatch(text):
        return int(text) if len(text) <= MAX_DIGITS else text
    if _FLOAT.fullmatch(text):
        number = WrittenFloat(text)
        return number if math.isfinite(number) else text
    return text


def yaml_events(text: str) -> Iterator[Event]:
    """The events of one YAML document; :class:`~jqueuer.errors.DescriptionError` with the line where it is none."""
    documents = 0
    try:
        for event in yaml.parse(text, Loader=_Loader):
            if isinstance(event, yaml.DocumentStartEvent):
                documents += 1
                if documents > 1:
                    raise fault("a second document begins here; expected only one", line=_line(event))
            elif isinstance(event, yaml.AliasEvent):
                yield Event(Kind.ALIAS, _line(event), event.anchor)
            elif isinstance(event, yaml.ScalarEvent | yaml.CollectionStartEvent):
                yield _node(event)
            elif isinstance(event, yaml.CollectionEndEvent):
                yield Event(Kind.END, _line(event))
    except yaml.YAMLError as error:
        raise _syntax_fault(error) from None
    except (ValueError, OverflowError):  # the parser written in Python, for escapes of no character
        raise fault("not valid YAML: a text contains an escape that is no character") from None


def _node(event: yaml.ScalarEvent | yaml.CollectionStartEvent) -> Event:
    line = _line(event)
    if event.tag not in (None, "!") and event.tag not in _TAGS:
        raise fault(f"the tag {shown(event.tag)} is not allowed: a description holds plain values only", line=line)
    if isinstance(event, yaml.ScalarEvent):
        plain = not event.style and event.tag not in ("!", f"{_STANDARD}str")
        value = plain_value(event.value) if plain else event.value
        if isinstance(value, str) and not value.isascii() and _has_surrogate(value):
            raise fault("half a surrogate pair is no character", line=line)
        return Event(Kind.SCALAR, line, value, event.anchor, merges=plain and value == MERGE_KEY)
    kind = Kind.MAPPING if isinstance(event, yaml.MappingStartEvent) else Kind.LIST
    return Event(kind, line, anchor=event.anchor)


def _has_surrogate(text: str) -> bool:
    return any("\ud800" <= character <= "\udfff" for character in text)


def _line(event: yaml.Event) -> int:
    return event.start_mark.line + 1 if event.start_mark is not None else 1


def _syntax_fault(error: yaml.YAMLError) -> Exception:
    mark = getattr(error, "problem_mark", None)
    problem = getattr(error, "problem", None) or getattr(error, "reason", None) or "it cannot be read"
    return fault(f"not valid YAML: {problem}", line=None if mark is None else mark.line + 1)
