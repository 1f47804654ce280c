"""Dashboards against Grafana's own models, which its makers generate from its schemas for each of its versions."""

from __future__ import annotations

import json
import types
import typing
from enum import Enum
from typing import Any

import grafana_foundation_sdk.cog.plugins as plugins
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.models.dashboard import Dashboard

plugins.register_default_plugins()  # the options of each type of panel, the queries of each data source


def faults_of(content: dict[str, Any]) -> list[str]:
    """What Grafana's models do not know, or know otherwise, by where it stands. None: it fits.

    What they do not know they leave out, so it is found by writing down again what was read. They read any value; what
    one should be, their annotations say.
    """
    dashboard = Dashboard.from_json(content)
    written = json.loads(JSONEncoder(sort_keys=True).encode(dashboard))
    return [*_left_out(content, written, ""), *_otherwise(dashboard, Dashboard, "")]


def _left_out(given: Any, written: Any, where: str) -> list[str]:
    if isinstance(given, dict) and isinstance(written, dict):
        known = [key for key in given if key in written]
        unknown = [f"{where}.{key} is unknown" for key in given if key not in written]
        return unknown + [fault for key in known for fault in _left_out(given[key], written[key], f"{where}.{key}")]
    if isinstance(given, list) and isinstance(written, list) and len(given) == len(written):
        pairs = zip(given, written, strict=True)
        return [fault for place, pair in enumerate(pairs) for fault in _left_out(*pair, f"{where}[{place}]")]
    return [] if given == written else [f"{where} is read as {written!r}"]


def _otherwise(value: Any, hint: Any, where: str) -> list[str]:
    """What is not as the annotation has it."""
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        each = [_otherwise(value, one, where) for one in arguments]
        return [] if [] in each else min(each, key=len)
    if origin is list and isinstance(value, list):
        return [
            fault for place, one in enumerate(value) for fault in _otherwise(one, arguments[0], f"{where}[{place}]")
        ]
    if origin is dict and isinstance(value, dict):
        return [fault for key, one in value.items() for fault in _otherwise(one, arguments[1], f"{where}.{key}")]
    if hasattr(type(value), "from_json"):  # a model; of panels and queries the annotation names no more than a base
        hints = typing.get_type_hints(type(value))
        return [
            fault
            for name, one in vars(value).items()
            if name in hints
            for fault in _otherwise(one, hints[name], f"{where}.{name}")
        ]
    return [] if _fits(value, hint, origin, arguments) else [f"{where} is {value!r}, not {hint}"]


def _fits(value: Any, hint: Any, origin: Any, arguments: tuple[Any, ...]) -> bool:
    if hint in (Any, object):
        return True
    if origin is typing.Literal:
        return value in arguments
    if not isinstance(hint, type):
        return False
    if issubclass(hint, Enum):
        return value in [member.value for member in hint]
    if hint in (int, float):
        return isinstance(value, int | hint) and not isinstance(value, bool)
    return isinstance(value, hint)
