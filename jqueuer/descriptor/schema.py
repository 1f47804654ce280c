"""The JSON Schema of the native format, for editors; it knows every shorthand the reader knows."""

from __future__ import annotations

import json
from typing import Any, Final

from pydantic import Field

from jqueuer.descriptor.bounds import put_bounds
from jqueuer.descriptor.policies import known_policies, needed_key
from jqueuer.descriptor.sweep_model import Sweep
from jqueuer.descriptor.wording import WORDING, put_words
from jqueuer.model import Experiment, FailurePolicy, Job, MemoryReservation, Policy, Post, Task

DRAFT = "https://json-schema.org/draft/2020-12/schema"
Schema = dict[str, Any]


class DescriptionFile(Experiment):
    """An experiment's parameters, with its jobs as a list or as a sweep."""

    jobs: tuple[Job, ...] | None = Field(default=None, min_length=1)
    sweep: Sweep | None = None


_WITH_UNITS: Final = (DescriptionFile, FailurePolicy, MemoryReservation, Policy, Post, Task)
"""Models with durations or sizes of their own."""


def json_schema() -> Schema:
    """The schema (draft 2020-12) of a description file, native format."""
    schema: Schema = json.loads(json.dumps(DescriptionFile.model_json_schema()))  # nothing in it is shared
    definitions: dict[str, Schema] = schema["$defs"]
    for model in _WITH_UNITS:
        put_bounds(definitions.get(model.__name__, schema), model)
    argv = definitions["Task"]["properties"]["command"]["oneOf"][0]
    for name in ("Job", "JobTemplate"):
        _allow_command(definitions[name], definitions["Task"])
    for name in WORDING.keys() & definitions.keys():
        put_words(definitions[name], name)
    definitions["Task"] = {"anyOf": [argv, _shell_task(definitions["Task"], definitions["Shell"]), definitions["Task"]]}
    for name in ("InputFile", "InputTemplate", "CsvTable", "Mount"):
        definitions[name] = {"anyOf": [{"type": "string", "minLength": 1}, definitions[name]]}
    definitions["CsvTable"]["anyOf"][1] |= {"oneOf": [{"required": ["path"]}, {"required": ["text"]}]}
    action = definitions["FailurePolicy"]["properties"]["action"]
    definitions["FailurePolicy"] = {"anyOf": [{"enum": action["enum"]}, definitions["FailurePolicy"]]}
    definitions["Notify"] = {"anyOf": [definitions["Notify"]["properties"]["url"], definitions["Notify"]]}
    definitions["Policy"] = _policy(definitions["Policy"])
    definitions["Range"]["oneOf"] = [{"required": ["step"]}, {"required": ["count"]}]
    for name in ("jobs", "sweep"):
        schema["properties"][name] = schema["properties"][name]["anyOf"][0] | {"title": name.capitalize()}
    put_words(schema, "DescriptionFile")
    schema["oneOf"] = [{"required": ["jobs"]}, {"required": ["sweep"]}]
    return {"$schema": DRAFT, **schema, "title": "JQueuer experiment description"}


def _allow_command(job: Schema, task: Schema) -> None:
    """A job may have a command of its own in place of tasks; its id may be left out."""
    job["properties"] |= {name: task["properties"][name] for name in ("command", "timeout")}
    job["required"] = []
    job["oneOf"] = [{"required": ["tasks"], "not": {"required": ["timeout"]}}, {"required": ["command"]}]


def _shell_task(task: Schema, shell: Schema) -> Schema:
    properties = {"shell": shell["properties"]["shell"], "timeout": task["properties"]["timeout"]}
    return {"type": "object", "properties": properties, "required": ["shell"], "additionalProperties": False}


def _policy(policy: Schema) -> Schema:
    names = {"enum": list(known_policies())}
    for key in ("name", "fallback"):
        policy["properties"][key] = {**policy["properties"][key], **names}
    policy["not"] = {"required": ["name", "url"]}
    needing = {name: key for name in known_policies() if (key := needed_key(name))}
    policy["allOf"] = [
        {
            "if": {"properties": {"name": {"const": name}}, "required": ["name"]},
            "then": {"required": [key], "properties": {key: {"not": {"type": "null"}}}},
        }
        for name, key in needing.items()
    ]
    bare = {"enum": [name for name in known_policies() if name not in needing]}
    return {"anyOf": [bare, policy]}
