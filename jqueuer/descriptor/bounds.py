"""The bounds of durations and sizes in the JSON Schema: pydantic leaves them out where a type brings its own schema."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final, get_args

from pydantic import BaseModel

_KEYWORDS: Final = {"gt": "exclusiveMinimum", "ge": "minimum", "le": "maximum"}


def put_bounds(schema: dict[str, Any], model: type[BaseModel]) -> None:
    """Bound the numbers that a model's properties take; those written as text only the reader can compare."""
    for name, field in model.model_fields.items():
        bounds = dict(_bounds((field.annotation, *field.metadata)))
        for part in _alternatives(schema["properties"][field.alias or name]):
            for key in _KEYWORDS:
                part.pop(key, None)  # pydantic's own words for what it could not place
            if part.get("type") in ("number", "integer"):
                part.update(bounds)


def _bounds(parts: Iterable[Any]) -> Iterator[tuple[str, Any]]:
    for part in parts:
        for attribute, keyword in _KEYWORDS.items():
            if (bound := getattr(part, attribute, None)) is not None:
                yield keyword, bound
        yield from _bounds(getattr(part, "__metadata__", ()))
        yield from _bounds(getattr(part, "metadata", ()))
        if type(None) in get_args(part):  # `… | None`; what is bounded inside of a list is not the property itself
            yield from _bounds(get_args(part))


def _alternatives(schema: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield schema
    for choice in schema.get("anyOf", ()):
        yield from _alternatives(choice)
