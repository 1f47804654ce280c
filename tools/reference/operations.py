"""The reference of the REST API, from its OpenAPI document."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import MISSING, fields
from http import HTTPStatus
from typing import Any, Final

from jqueuer.settings import Settings
from jqueuer_manager.api import create_app
from jqueuer_manager.services import Services
from tools.reference.kinds import Schema, default, kind, limits, row

_HEAD: Final = """\
# API reference

Every operation of the [REST API](api.md), which explains them. This page is made of the OpenAPI document
(`make reference`) that every manager shows at `/api/v1/openapi.json`.

*Role* is the least that the token has to carry; *agents* show a token of their own. Whatever is refused is answered
with a [problem](#problem) and its [status](api.md#errors): `401`, `403` and `429` wherever there is a role, `422` where
parameters or body are wrong, `503` where the store is away.
"""
_TAGS: Final = {
    "experiments": "Experiments",
    "commands": "Commands",
    "jobs": "Jobs, logs, outputs",
    "files": "Input files",
    "nodes": "Nodes",
    "tokens": "Users and tokens",
    "session": "Session of a browser",
    "health": "Health and metrics",
    "2018": "The paths of 2018",
    "agents": "Agents",
}
_EVERYWHERE: Final = {"default", "401", "403", "422", "429", "503"}


def document() -> dict[str, Any]:
    """The OpenAPI document; no store or engine is needed to write it."""
    absent: dict[str, Any] = {field.name: None for field in fields(Services) if field.default_factory is MISSING}
    app = create_app(Services(**(absent | {"settings": Settings(), "ready": lambda: (True, "")})))
    return dict(json.loads(json.dumps(app.api_doc)))


def page(document: Schema) -> str:
    """The page, in Markdown."""
    lines = [_HEAD]
    operations = list(_operations(document))
    tags = dict.fromkeys([*_TAGS, *(tag for tag, *_ in operations)])
    for tag in tags:
        lines += [f"## {_TAGS.get(tag, tag.capitalize())}", ""]
        for its_tag, method, path, operation in operations:
            if its_tag == tag:
                lines += _operation(method, path, operation)
    lines += ["## Answers", ""]
    for name, schema in document["components"]["schemas"].items():
        lines += _schema(name, schema)
    return "\n".join(lines)


def _operations(document: Schema) -> Iterator[tuple[str, str, str, Schema]]:
    for path, item in document["paths"].items():
        for method, operation in item.items():
            yield operation["tags"][0], method.upper(), path, operation


def _operation(method: str, path: str, operation: Schema) -> list[str]:
    lines = [f"### {method} {path}", "", f"{_text(operation['summary'])} *Role: {_role(operation)}.*", ""]
    if parameters := operation.get("parameters"):
        lines += [row("parameter", "in", "value", "default", "limits", "meaning"), "|---|---|---|---|---|---|"]
        lines += [_parameter(parameter) for parameter in parameters]
        lines += [""]
    if body := operation.get("requestBody"):
        lines += [_body(body), ""]
    lines += ["Answers: " + "; ".join(_answers(operation["responses"])) + ".", ""]
    return lines


def _role(operation: Schema) -> str:
    if not operation["security"]:
        return "none"
    ((scheme, roles),) = operation["security"][0].items()
    return roles[0] if roles else "agents" if scheme == "agentToken" else "any"


def _parameter(parameter: Schema) -> str:
    schema = parameter["schema"]
    standard = default(schema, required=parameter["required"])
    return row(
        f"`{parameter['name']}`", parameter["in"], kind(schema, _link), standard, limits(schema) or "–",
        _text(parameter.get("description", "")) or "–",
    )  # fmt: skip


def _body(body: Schema) -> str:
    said = []
    for media, content in body["content"].items():
        schema = content.get("schema", {})
        keys = ", ".join(f"`{key}`" for key in schema.get("properties", ()))
        named = kind(schema, _link) if "$ref" in schema else f"with {keys}" if keys else ""
        said.append(f"`{media}` {named}".rstrip())
    words = f": {_text(body['description'])}" if body.get("description") else ""
    return f"Body: {', '.join(said)}{words}."


def _answers(responses: Schema) -> Iterator[str]:
    for status, response in sorted(responses.items()):
        if status in _EVERYWHERE:
            continue
        contents = response.get("content", {})
        named = [kind(content["schema"], _link) for content in contents.values() if "schema" in content]
        linked = [name for name in dict.fromkeys(named) if name.startswith("[")]
        words = response.get("description", "")
        usual = words == HTTPStatus(int(status)).phrase
        what = linked or [f"`{media}`" for media in contents]
        yield f"`{status}` {'' if usual and what else _text(words)} {' or '.join(what)}".replace("  ", " ").rstrip()


def _schema(name: str, schema: Schema) -> list[str]:
    lines = [f"### {_title(name)}", ""]
    if words := schema.get("description"):
        lines += [_text(" ".join(words.partition("\n\n")[0].split())), ""]
    if "properties" not in schema:
        return [*lines, f"One of {kind(schema, _link)}.", ""]
    lines += [row("field", "value", "meaning"), "|---|---|---|"]
    for key, part in schema["properties"].items():
        nullable = any(choice.get("type") == "null" for choice in part.get("anyOf", ()))
        value = kind(part, _link) + (", or null" if nullable else "")
        lines.append(row(f"`{key}`", value, _text(part.get("description", "")) or "–"))
    return [*lines, ""]


def _text(words: str) -> str:
    return words.replace("``", "`").strip()


def _title(name: str) -> str:
    return name.removesuffix("Model")


def _link(name: str) -> str:
    return f"[{_title(name)}](#{_title(name).lower()})"
