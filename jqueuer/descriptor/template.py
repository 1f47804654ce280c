"""The template of a sweep's job, compiled once so that a hundred thousand jobs are made in a moment.

Only ``{{name}}`` is a placeholder; ``{{.State}}`` and other braces stay as they are.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from jqueuer.descriptor.faults import Path
from jqueuer.descriptor.sweep_model import JobTemplate
from jqueuer.model import Command, InputFile, Job, Shell, Task

_PLACEHOLDER = re.compile(r"\{\{\s*([A-Za-z_][A-Za-z0-9_]*)\s*\}\}")


class Text:
    """A text with placeholders."""

    __slots__ = ("_format", "names")

    def __init__(self, text: str) -> None:
        parts = _PLACEHOLDER.split(text)
        self.names = tuple(parts[1::2])
        self._format = "%s".join(part.replace("%", "%%") for part in parts[::2])

    def render(self, texts: Mapping[str, str]) -> str:
        """The text with its placeholders filled in."""
        return self._format % tuple([texts[name] for name in self.names])


class _CommandTemplate:
    def __init__(self, command: Command) -> None:
        self._command = command
        self._is_shell = isinstance(command, Shell)
        self._texts = [Text(text) for text in ([command.shell] if isinstance(command, Shell) else command)]
        self.fixed = not any(text.names for text in self._texts)

    def render(self, texts: Mapping[str, str]) -> Command:
        if self.fixed:
            return self._command
        words = tuple([text.render(texts) for text in self._texts])
        return Shell.model_construct(shell=words[0]) if self._is_shell else words


class _TaskTemplate:
    def __init__(self, task: Task) -> None:
        self._task = task
        self._command = _CommandTemplate(task.command)

    def render(self, texts: Mapping[str, str]) -> Task:
        if self._command.fixed:
            return self._task
        return Task.model_construct(_TASK_FIELDS, command=self._command.render(texts), timeout=self._task.timeout)


_TASK_FIELDS = {"command", "timeout"}
_JOB_FIELDS = set(Job.model_fields)


class CompiledTemplate:
    """Makes jobs; what it is given has been checked, so nothing is checked again."""

    def __init__(self, template: JobTemplate) -> None:
        self._id = Text(template.id) if template.id is not None else None
        self._tasks = [_TaskTemplate(task) for task in template.tasks]
        self._pre_job = _CommandTemplate(template.pre_job) if template.pre_job is not None else None
        self._post_job = _CommandTemplate(template.post_job) if template.post_job is not None else None
        self._environment = {name: Text(value) for name, value in template.environment.items()}
        self._inputs = [(Text(file.path), Text(file.source or "")) for file in template.inputs]
        self._outputs = [Text(glob) for glob in template.outputs]
        self._parameters = template.parameters
        self._idempotent = template.idempotent

    def render(self, default_id: str, values: dict[str, Any], texts: Mapping[str, str]) -> Job:
        """The job of one combination of values; ``texts`` are the same values as text, with the built-in ones."""
        return Job.model_construct(
            _JOB_FIELDS,
            id=default_id if self._id is None else self._id.render(texts),
            tasks=tuple([task.render(texts) for task in self._tasks]),
            pre_job=None if self._pre_job is None else self._pre_job.render(texts),
            post_job=None if self._post_job is None else self._post_job.render(texts),
            environment={name: text.render(texts) for name, text in self._environment.items()},
            inputs=tuple([self._input(path, source, texts) for path, source in self._inputs]),
            outputs=tuple([text.render(texts) for text in self._outputs]),
            parameters={**self._parameters, **values},
            idempotent=self._idempotent,
        )

    @staticmethod
    def _input(path: Text, source: Text, texts: Mapping[str, str]) -> InputFile:
        return InputFile.model_construct(path=path.render(texts), sha256=None, source=source.render(texts) or None)


@dataclass(frozen=True)
class Slot:
    """One text of a template, where it stands, and what kind of text it must become."""

    path: Path
    text: Text
    kind: str
    """``id``, ``path``, ``words`` (must not be empty) or ``any``."""


def slots(template: JobTemplate) -> Iterator[Slot]:
    """Every text of a template that may hold placeholders."""
    if template.id is not None:
        yield Slot(("id",), Text(template.id), "id")
    for index, task in enumerate(template.tasks):
        yield from _command_slots(("tasks", index, "command"), task.command)
    for name, command in (("pre_job", template.pre_job), ("post_job", template.post_job)):
        if command is not None:
            yield from _command_slots((name,), command)
    for name, value in template.environment.items():
        yield Slot(("environment", name), Text(value), "any")
    for index, file in enumerate(template.inputs):
        yield Slot(("inputs", index, "path"), Text(file.path), "path")
        yield Slot(("inputs", index, "source"), Text(file.source or ""), "any")
    for index, glob in enumerate(template.outputs):
        yield Slot(("outputs", index), Text(glob), "path")


def _command_slots(path: Path, command: Command) -> Iterator[Slot]:
    if isinstance(command, Shell):
        yield Slot((*path, "shell"), Text(command.shell), "words")
    else:
        for index, argument in enumerate(command):
            yield Slot((*path, index), Text(argument), "any" if index else "words")
