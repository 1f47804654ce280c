"""The schema says of each key what it means, with an example that is right, and bounds what the reader bounds."""

from __future__ import annotations

from typing import Any

import pytest
from jsonschema import Draft202012Validator
from pydantic import TypeAdapter

from jqueuer.descriptor import json_schema, read_description
from jqueuer.descriptor.document import read_document
from jqueuer.descriptor.wording import WORDING
from jqueuer.errors import DescriptionError
from jqueuer.frozen import Frozen

SCHEMA = json_schema()


def derived_from(base: type[Frozen]) -> dict[str, type[Frozen]]:
    """All models, by name."""
    found = {model.__name__: model for model in base.__subclasses__()}
    return found | {name: model for inner in base.__subclasses__() for name, model in derived_from(inner).items()}


MODELS = derived_from(Frozen)


def properties(name: str) -> dict[str, Any]:
    """The properties of a model in the schema, its longest form."""
    part = SCHEMA["$defs"].get(name, SCHEMA)
    return {key: value for form in part.get("anyOf", [part]) for key, value in form.get("properties", {}).items()}


def test_there_are_words_for_every_model_and_no_other() -> None:
    assert set(WORDING) == {*SCHEMA["$defs"], "DescriptionFile"}


@pytest.mark.parametrize("name", WORDING)
def test_every_key_has_a_meaning_and_an_example(name: str) -> None:
    for key, part in properties(name).items():
        assert part["description"], key
        assert len(part["examples"]) == 1, key


@pytest.mark.parametrize("name", WORDING)
def test_every_example_is_right(name: str) -> None:
    for key, part in properties(name).items():
        (example,) = part["examples"]
        Draft202012Validator({"$defs": SCHEMA["$defs"], **part}).validate(example)
        fields = {field.alias or known: field for known, field in MODELS[name].model_fields.items()}
        if key in fields:
            TypeAdapter(fields[key].rebuild_annotation()).validate_python(example)


@pytest.mark.parametrize(
    "lines",
    [
        "estimate: 0",
        "timeout: 0",
        "policy: {url: 'http://p.example/', timeout: 61}",
        "policy: {name: target-duration, target: 0}",
        "policy: {period: 0}",
        "resources: {memory: {limit: 0}}",
        "on_failure: {backoff: -1}",
        "post: {command: [x], timeout: 0}",
    ],
)
def test_numbers_that_the_reader_refuses_are_invalid(lines: str) -> None:
    text = f"{lines}\njobs: [{{command: [x]}}]".encode()
    with pytest.raises(DescriptionError):
        read_description(text)
    assert list(Draft202012Validator(SCHEMA).iter_errors(read_document(text).value))
