"""What the models find wrong, in words for the author of a description and with paths into what was written."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, TypeVar, get_args

from pydantic import BaseModel, TypeAdapter, ValidationError
from pydantic_core import ErrorDetails

from jqueuer import kinds
from jqueuer.descriptor.faults import FaultList, Path, suggestion, unknown_key
from jqueuer.descriptor.sweep_model import JobTemplate
from jqueuer.model import Experiment, Job, Task
from jqueuer.units import shown

Model = TypeVar("Model", bound=BaseModel)

_BESIDE_FIELDS: dict[type[BaseModel], tuple[str, ...]] = {
    Experiment: ("jobs", "sweep"),
    Job: ("command", "timeout"),
    JobTemplate: ("command", "timeout"),
    Task: ("shell",),
}
_PATTERNS = {
    kinds.JOB_ID_PATTERN: "expected letters, digits, '.', '-' and '_', beginning with a letter or digit, 128 at most",
    kinds.EXPERIMENT_NAME_PATTERN: "expected letters, digits, spaces, '.', '-' and '_', 63 at most",
    kinds.IMAGE_PATTERN: "expected the name of an image such as registry/name:tag",
    kinds.ENVIRONMENT_NAME_PATTERN: "expected the name of a variable: letters, digits and '_', no digit first",
    kinds.TEXT_PATTERN: "a NUL character cannot stand here",
    kinds.TIME_ZONE_PATTERN: "expected a time zone such as Europe/Vienna, UTC or +05:30",
    kinds.SHA256_PATTERN: "expected a SHA-256 checksum, 64 hexadecimal digits",
}
_EXPECTED = {
    "string_unicode": "expected text of valid Unicode characters",
    "int_type": "expected a whole number",
    "int_from_float": "expected a whole number",
    "float_type": "expected a number",
    "finite_number": "expected a finite number",
    "bool_type": "expected true or false",
    "model_type": "expected a mapping",
    "model_attributes_type": "expected a mapping",
    "dict_type": "expected a mapping",
    "tuple_type": "expected a list",
    "string_too_short": "expected some text",
}


def validated(model: type[Model], raw: Any, faults: FaultList, prefix: Path = ()) -> Model | None:
    """The model of what was written, or None with the faults noted under ``prefix``."""
    try:
        return model.model_validate(raw)
    except ValidationError as error:
        for path, message in _complaints(error, raw, model):
            faults.add(prefix + path, message)
        return None


def check(adapter: TypeAdapter[Any], value: Any) -> str | None:
    """Why a single value is not of its kind; None if it is."""
    try:
        adapter.validate_python(value)
    except ValidationError as error:
        return next(message for _, message in _complaints(error, value, None))
    return None


def _complaints(error: ValidationError, raw: Any, model: type[BaseModel] | None) -> Iterator[tuple[Path, str]]:
    for details in error.errors(include_url=False):
        if details["type"] == "too_short" and details["input"]:
            continue  # its items were faulty, which is reported for each of them
        path = written_path(raw, details["loc"], missing=details["type"] == "missing")
        if details["type"] == "extra_forbidden":
            yield path, unknown_key(str(details["loc"][-1]), _known_keys(model, details["loc"]))
        elif details["type"] == "missing" and details["loc"][-1] == "tasks":
            yield path[:-1], "a job needs a command or tasks"
        else:
            yield path, _words(details)


def written_path(raw: Any, location: Path, *, missing: bool = False) -> Path:
    """The steps of a location that exist in what was written: shorthand and union tags leave no trace there."""
    path: list[str | int] = []
    here = raw
    for step in location:
        if _has(here, step):
            path.append(step)
            here = here[step]
    if missing:
        path.append(location[-1])
    return tuple(path)


def _has(value: Any, step: str | int) -> bool:
    if isinstance(value, Mapping):
        return step in value
    return isinstance(value, list | tuple) and isinstance(step, int) and 0 <= step < len(value)


def _words(details: ErrorDetails) -> str:
    kind, context, value = details["type"], details.get("ctx", {}), details["input"]
    if kind == "missing":
        return "required, but missing"
    if kind == "value_error":
        return str(context["error"])
    if kind == "string_type":
        hint = "; put it in quotes" if isinstance(value, int | float) else ""
        return f"expected text, got {shown(value)}{hint}"
    if kind == "string_pattern_mismatch":
        return f"{_PATTERNS[context['pattern']]}; got {shown(value)}"
    if kind == "literal_error":
        return f"expected {context['expected']}, got {shown(value)}{_near(value, context['expected'])}"
    if kind in ("too_short", "too_long"):
        bound = f"at least {context['min_length']}" if kind == "too_short" else f"at most {context['max_length']}"
        return f"expected {bound} in this list, got {context['actual_length']}"
    if kind in _BOUNDS:
        name, words = _BOUNDS[kind]
        return f"expected {words} {context[name]:g}, got {shown(value)}"
    if kind in _EXPECTED:
        return f"{_EXPECTED[kind]}, got {shown(value)}"
    return details["msg"]


_BOUNDS = {
    "greater_than": ("gt", "more than"),
    "greater_than_equal": ("ge", "at least"),
    "less_than": ("lt", "less than"),
    "less_than_equal": ("le", "at most"),
}


def _near(value: Any, expected: str) -> str:
    return (
        suggestion(value, expected.replace("'", "").replace(" or ", ", ").split(", ")) if isinstance(value, str) else ""
    )


def _known_keys(model: type[BaseModel] | None, location: Path) -> set[str]:
    """The keys allowed where an unknown one was found."""
    for step in location[:-1]:
        if model is not None and step in model.model_fields:
            model = next(_models_in(model.model_fields[str(step)].annotation), None)
    if model is None:
        return set()
    names = {field.alias or name for name, field in model.model_fields.items()}
    return names.union(_BESIDE_FIELDS.get(model, ()))


def _models_in(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for argument in get_args(annotation):
        yield from _models_in(argument)
