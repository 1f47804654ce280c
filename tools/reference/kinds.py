"""A JSON Schema in words: what kind of value, within which limits."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, Final

from pydantic import TypeAdapter

from jqueuer.kinds import TimeOfDay
from jqueuer.units import ByteSize, Deadline, Duration, format_duration, format_size

Schema = Mapping[str, Any]
Link = Callable[[str], str]
"""How a page refers to a schema by its name."""

_PLAIN: Final = {"string": "text", "number": "number", "integer": "whole number", "boolean": "true or false"}
_SCALAR: Final = ["string", "number", "boolean"]


def _patterns(kind: Any) -> set[str]:
    schema = TypeAdapter(kind).json_schema()
    return {part["pattern"] for part in (schema, *schema.get("anyOf", ())) if "pattern" in part}


_DURATIONS: Final = _patterns(Duration)
_MOMENTS: Final = _patterns(Deadline) - _DURATIONS
_SIZES: Final = _patterns(ByteSize)
_TIMES: Final = _patterns(TimeOfDay)


def kind(schema: Schema, link: Link) -> str:
    """What kind of value it takes: ``duration``, ``list of text``, a link to a schema."""
    if "$ref" in schema:
        return link(schema["$ref"].rpartition("/")[2])
    if "const" in schema:
        return code(schema["const"])
    if "enum" in schema:
        return ", ".join(code(value) for value in schema["enum"])
    if unit := _unit(schema):
        return unit
    if choices := schema.get("anyOf") or schema.get("oneOf") or schema.get("allOf"):
        kinds = [kind(choice, link) for choice in choices if choice.get("type") != "null"]
        return " or ".join(dict.fromkeys(kinds))
    if schema.get("type") == "array":
        items = schema.get("items", {})
        return "list of words" if items.get("type") == _SCALAR else f"list of {kind(items, link)}"
    if schema.get("type") == "object":
        return _mapping(schema, link)
    if schema.get("type") == _SCALAR:
        return "text, number, true or false"
    return _PLAIN.get(schema.get("type", ""), "anything")


def _mapping(schema: Schema, link: Link) -> str:
    values = [*schema.get("patternProperties", {}).values(), schema.get("additionalProperties")]
    if isinstance(values[0], dict) and values[0]:
        return f"names with {kind(values[0], link)}"
    return "mapping"


def _unit(schema: Schema) -> str:
    """The kinds that are numbers with units, or text that means one."""
    found = {part.get("pattern") for part in schema.get("anyOf", (schema,))}
    if found & _MOMENTS:
        return "duration or moment"
    if found & _DURATIONS:
        return "duration"
    if found & _SIZES:
        return "size"
    return "time of day" if found & _TIMES else ""


def limits(schema: Schema) -> str:
    """Within which limits: ``1 … 1000``, ``at most 10,000 entries``; empty where there are none."""
    found: dict[str, Any] = {}
    for part in _parts(schema):
        found |= {key: value for key, value in part.items() if key not in {"anyOf", "description"}}
    said = [_range(found, _unit(_of_value(schema)))]
    for least, most, what in (("minItems", "maxItems", "entries"), ("minLength", "maxLength", "characters")):
        if most in found:
            said.append(f"at most {found[most]:,} {what}")
        elif found.get(least):
            said.append("not empty")
    return "; ".join(filter(None, said))


def _parts(schema: Schema) -> list[Schema]:
    """The schema and its alternatives, the innermost first."""
    inner = [part for choice in schema.get("anyOf", ()) for part in _parts(choice)]
    return [*inner, schema]


def _of_value(schema: Schema) -> Schema:
    """The alternative that is not null, where there is but one."""
    choices = [choice for choice in schema.get("anyOf", ()) if choice.get("type") != "null"]
    return choices[0] if len(choices) == 1 else schema


def _range(found: Schema, unit: str) -> str:
    above, least, most = (found.get(key) for key in ("exclusiveMinimum", "minimum", "maximum"))
    shown = {"duration": format_duration, "duration or moment": format_duration, "size": format_size}.get(unit, _number)
    if above is not None:
        return f"above {shown(above)}" + ("" if most is None else f", at most {shown(most)}")
    if least is not None and most is not None:
        return f"{shown(least)} … {shown(most)}"
    if least is not None:
        return f"at least {shown(least)}"
    return "" if most is None else f"at most {shown(most)}"


def _number(value: float) -> str:
    return f"{int(value):,}" if value == int(value) else f"{value:g}"


def default(schema: Schema, *, required: bool) -> str:
    """What holds where nothing is said."""
    if required:
        return "required"
    value = schema.get("default")
    if value in (None, [], {}, "") or isinstance(value, dict):
        return "–"
    if isinstance(value, float) and "duration" in _unit(_of_value(schema)):
        return code(format_duration(value))
    return code(int(value) if isinstance(value, float) and value == int(value) else value)


def code(value: Any) -> str:
    """A value as it is written in a description."""
    return f"`{inline(value)}`"


def inline(value: Any) -> str:
    """A value in YAML's flow style, on one line."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key}: {inline(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(inline, value)) + "]"
    if not isinstance(value, str):
        return json.dumps(value)
    plain = value and all(character.isalnum() or character in "-_./@%" for character in value)
    return value if plain and not value.startswith(("@", "-")) else json.dumps(value, ensure_ascii=False)


def row(*cells: str) -> str:
    """A row of a table."""
    return "| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in cells) + " |"
