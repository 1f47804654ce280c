"""The reference of the experiment description, from its JSON Schema."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

from jqueuer.descriptor import json_schema
from tools.reference.kinds import Schema, code, default, kind, limits, row

_TITLES: Final = {
    "DescriptionFile": "The experiment",
    "ContainerLimits": "Containers",
    "FailurePolicy": "On failure",
    "InputFile": "Input file",
    "InputTemplate": "Input of a template",
    "JobTemplate": "Template of a job",
    "MemoryReservation": "Memory",
    "Reservation": "CPU",
    "CsvTable": "Table",
}
_HEAD: Final = """\
# Description reference

Every key of an experiment's description. The [guide](description.md) explains them by examples; `jqueuer validate
FILE` checks a description, and `jqueuer schema` prints the JSON Schema that this page is made of (`make reference`).

Durations are written `90s`, `1h30m`, `250ms`, `PT1H30M`, or as a number of seconds; sizes `200MiB`, `1GB`, or as a
number of bytes; moments with their time zone, `2030-12-31T18:00:00+01:00`. A key that is not listed is a fault.
"""


def page() -> str:
    """The page, in Markdown."""
    schema = json_schema()
    parts = {"DescriptionFile": schema, **schema["$defs"]}
    sections = [_section(name, parts[name], where) for name, where in _found(parts).items()]
    return "\n".join([_HEAD, *sections])


def _found(parts: dict[str, Schema]) -> dict[str, list[str]]:
    """The schemas in the order in which a reader meets them, each with the places where it stands."""
    found: dict[str, list[str]] = {}
    waiting = [("DescriptionFile", "")]
    while waiting:
        name, where = waiting.pop(0)
        if name in found:
            found[name].append(where)
            continue
        found[name] = [where]
        properties = _mapping_of(parts[name])["properties"]
        waiting += [
            (target, f"{where}.{key}".lstrip(".")) for key, part in properties.items() for target in _targets(part)
        ]
    return {name: [place for place in where if place] for name, where in found.items()}


def _targets(part: Any) -> Iterator[str]:
    """The schemas that a property refers to."""
    if isinstance(part, dict):
        if "$ref" in part:
            yield part["$ref"].rpartition("/")[2]
        for key, inner in part.items():
            if key not in {"examples", "default"}:
                yield from _targets(inner)
    elif isinstance(part, list):
        for inner in part:
            yield from _targets(inner)


def _mapping_of(schema: Schema) -> Schema:
    """The form with all keys; the last one where there are shorter ways to write it."""
    forms = schema.get("anyOf", [schema])
    return next(form for form in reversed(forms) if "properties" in form)


def _section(name: str, schema: Schema, where: list[str]) -> str:
    mapping = _mapping_of(schema)
    lines = [f"## {_title(name)}", ""]
    if where:
        lines += [f"{_sentence(mapping)} Stands at {', '.join(map(code, dict.fromkeys(where)))}.", ""]
    if short := [_short(form, mapping) for form in schema.get("anyOf", ()) if form is not mapping]:
        lines += [f"Shorter: {', or '.join(short)}.", ""]
    lines += [row("key", "value", "default", "limits", "meaning", "example"), "|---|---|---|---|---|---|"]
    for key, part in mapping["properties"].items():
        required = key in mapping.get("required", ())
        lines.append(
            row(
                f"`{key}`", kind(part, _link), default(part, required=required), limits(part) or "–",
                part["description"], code(part["examples"][0]),
            )
        )  # fmt: skip
    return "\n".join([*lines, ""])


def _sentence(schema: Schema) -> str:
    """The first paragraph of what a model says of itself."""
    text = schema["description"].partition("\n\n")[0]
    return str(re.sub(r"\s+", " ", text).replace("``", "`"))


def _short(form: Schema, mapping: Schema) -> str:
    if "properties" in form:
        return "`{" + ", ".join(form["properties"]) + "}` in one mapping"
    if mapping["title"] == "Mount":
        return "`source:target` or `source:target:ro`, as text"
    return f"the `{next(iter(mapping['properties']))}` alone" if form.get("type") == "string" else kind(form, _link)


def _title(name: str) -> str:
    return _TITLES.get(name, name)


def _link(name: str) -> str:
    return f"[{_title(name)}](#{_title(name).lower().replace(' ', '-')})"
