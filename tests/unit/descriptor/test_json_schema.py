"""The schema for editors: a valid one, and of one mind with the reader."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from jsonschema import Draft202012Validator

from jqueuer.descriptor import dump_description, json_schema, read_description
from jqueuer.descriptor.document import read_document
from jqueuer.errors import DescriptionError
from jqueuer.model import Experiment, Job
from tests import strategies

NATIVE = Path(__file__).parents[2] / "data" / "native"
DOCS = Path(__file__).parents[3] / "docs" / "description.md"
VALIDATOR = Draft202012Validator(json_schema())


def documents(text: str) -> list[str]:
    """The blocks of YAML and JSON in a page that are whole descriptions."""
    blocks = [block.split("\n", 1) for block in text.split("```")[1::2]]
    return [body for language, body in blocks if language in ("yaml", "json") and ("jobs" in body or "sweep" in body)]


def test_it_is_a_valid_schema_that_says_which() -> None:
    Draft202012Validator.check_schema(json_schema())
    assert json_schema()["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    json.dumps(json_schema(), allow_nan=False)


@pytest.mark.parametrize("path", sorted(NATIVE.iterdir()), ids=lambda path: path.name)
def test_good_descriptions_are_valid(path: Path) -> None:
    VALIDATOR.validate(read_document(path.read_bytes()).value)
    assert read_description(path.read_bytes()).count > 0


def test_the_examples_of_the_reference_are_valid() -> None:
    examples = documents(DOCS.read_text("utf-8"))
    assert len(examples) >= 3
    for example in examples:
        description = read_description(example.encode())
        if description.dialect == "native":
            VALIDATOR.validate(read_document(example.encode()).value)


def test_a_mount_may_be_one_line() -> None:
    VALIDATOR.validate({"mounts": ["/data:/data:ro", "scratch:/scratch"], "jobs": [{"command": ["x"]}]})


@given(strategies.experiments, strategies.job_lists)
@settings(max_examples=25, deadline=None)
def test_whatever_we_print_is_valid(experiment: Experiment, jobs: list[Job]) -> None:
    VALIDATOR.validate(read_document(dump_description(experiment, jobs).encode()).value)


@pytest.mark.parametrize(
    "keys",
    [
        {},
        {"jobs": []},
        {"jobs": [{"command": ["x"]}], "sweep": {"repeat": 2, "job": {"command": ["x"]}}},
        {"jobs": [{"command": "x"}]},
        {"jobs": [{"command": []}]},
        {"jobs": [{"command": ["x"], "tasks": [["x"]]}]},
        {"jobs": [{"tasks": [["x"]], "timeout": "5s"}]},
        {"jobs": [{"tasks": []}]},
        {"jobs": [{"id": "a/b", "command": ["x"]}]},
        {"jobs": [{"command": ["x"], "comand": ["x"]}]},
        {"jobs": [{"command": ["x"], "outputs": [7]}]},
        {"jobs": [{"command": ["x"]}], "deadlin": "5m"},
        {"jobs": [{"command": ["x"]}], "deadline": "soon"},
        {"jobs": [{"command": ["x"]}], "deadline": "2030-12-31T18:00:00"},
        {"jobs": [{"command": ["x"]}], "containers": 4},
        {"jobs": [{"command": ["x"]}], "policy": "none"},
        {"jobs": [{"command": ["x"]}], "policy": {"name": "fixed", "url": "http://x/"}},
        {"jobs": [{"command": ["x"]}], "policy": "budget"},
        {"jobs": [{"command": ["x"]}], "policy": {"name": "target-duration"}},
        {"jobs": [{"command": ["x"]}], "policy": {"name": "schedule", "schedule": None}},
        {"jobs": [{"command": ["x"]}], "policy": {"schedule": [{"from": "25:00", "to": "08:00", "containers": 1}]}},
        {"jobs": [{"command": ["x"]}], "policy": {"schedule": [{"start": "5:00", "to": "08:00", "containers": 1}]}},
        {"jobs": [{"command": ["x"]}], "policy": {"timezone": "../x"}},
        {"jobs": [{"command": ["x"]}], "policy": {"budget": "12h"}},
        {"jobs": [{"command": ["x"]}], "policy": {"budget": {"container_hours": 0}}},
        {"jobs": [{"command": ["x"], "idempotent": "yes"}]},
        {"jobs": [{"command": ["x"]}], "on_failure": "retry"},
        {"jobs": [{"command": ["x"]}], "environment": {"A": None}},
        {"sweep": {"parameters": {"x": 5}, "job": {"command": ["x"]}}},
        {"sweep": {"parameters": {"x": {"from": 1, "to": 2}}, "job": {"command": ["x"]}}},
        {"sweep": {"csv": {}, "job": {"command": ["x"]}}},
    ],
)
def test_what_the_reader_refuses_the_schema_refuses(keys: dict[str, Any]) -> None:
    assert not VALIDATOR.is_valid(keys)
    with pytest.raises(DescriptionError):
        read_description(json.dumps(keys).encode())
