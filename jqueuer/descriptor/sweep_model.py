"""What a sweep is made of: parameters, perhaps a table, and the template of a job."""

from __future__ import annotations

import math
from typing import Annotated, Any, Literal

from pydantic import (
    BeforeValidator,
    Discriminator,
    Field,
    PlainValidator,
    StringConstraints,
    Tag,
    WithJsonSchema,
    model_validator,
)

from jqueuer.kinds import ENVIRONMENT_NAME_PATTERN, Text, WholeNumber, WrittenScalar
from jqueuer.model import MAX_TASKS, Command, Environment, Frozen, Parameters, Task, tasks_of_command
from jqueuer.units import shown


def _number(value: Any) -> int | float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise ValueError(f"expected a number, got {shown(value)}")
    return value


Number = Annotated[int | float, PlainValidator(_number), WithJsonSchema({"type": "number"})]
ParameterName = Annotated[str, StringConstraints(pattern=ENVIRONMENT_NAME_PATTERN)]


class Range(Frozen):
    """Numbers from one to another, both included: by a step, or so many of them at equal or growing distances."""

    start: Number = Field(alias="from")
    to: Number
    step: Number | None = None
    count: WholeNumber | None = Field(default=None, ge=2)
    scale: Literal["linear", "log"] = "linear"

    @model_validator(mode="after")
    def _makes_sense(self) -> Range:
        if (self.step is None) == (self.count is None):
            raise ValueError("give either step or count")
        if self.step is not None and self.scale == "log":
            raise ValueError("a logarithmic scale needs count, not step")
        if self.step == 0:
            raise ValueError("step cannot be 0")
        if self.step is not None and (self.to - self.start) * self.step < 0:
            raise ValueError(f"step {shown(self.step)} leads away from {shown(self.to)}")
        if self.scale == "log" and min(self.start, self.to) <= 0:
            raise ValueError("a logarithmic scale needs from and to above 0")
        return self


def _values_form(value: Any) -> Any:
    if isinstance(value, list | tuple | dict | Range):
        return value
    example = "[1, 2], or a range such as {from: 0, to: 1, step: 0.1}"
    raise ValueError(f"expected a list of values such as {example}, got {shown(value)}")


Values = Annotated[
    Annotated[tuple[WrittenScalar, ...], Field(min_length=1), Tag("<list>")] | Annotated[Range, Tag("<range>")],
    Discriminator(lambda value: "<list>" if isinstance(value, list | tuple) else "<range>"),
    BeforeValidator(_values_form),
]


class CsvTable(Frozen):
    """A table whose columns are parameters: a file beside the description, or its text."""

    path: Text | None = None
    text: str | None = None

    @model_validator(mode="before")
    @classmethod
    def _from_path(cls, value: Any) -> Any:
        return {"path": value} if isinstance(value, str) else value

    @model_validator(mode="after")
    def _has_one_source(self) -> CsvTable:
        if (self.path is None) == (self.text is None):
            raise ValueError("give either the path of a CSV file or its text")
        return self


class InputTemplate(Frozen):
    """An input whose path may hold placeholders."""

    path: Text
    source: Text | None = None

    @model_validator(mode="before")
    @classmethod
    def _from_path(cls, value: Any) -> Any:
        return {"path": value} if isinstance(value, str) else value


class JobTemplate(Frozen):
    """A job whose texts hold ``{{name}}`` where the value of a parameter goes."""

    id: Text | None = None
    tasks: Annotated[tuple[Task, ...], Field(min_length=1, max_length=MAX_TASKS)]
    pre_job: Command | None = None
    post_job: Command | None = None
    environment: Environment = Field(default={})
    inputs: tuple[InputTemplate, ...] = ()
    outputs: tuple[Text, ...] = ()
    parameters: Parameters = Field(default={})
    idempotent: Annotated[bool, Field(strict=True)] | None = None

    _from_one_command = model_validator(mode="before")(tasks_of_command)


class Sweep(Frozen):
    """Many jobs from one template: one for each combination of the parameters' values."""

    parameters: dict[ParameterName, Values] = Field(default={})
    csv: CsvTable | None = None
    combine: Literal["grid", "zip"] = "grid"
    repeat: WholeNumber | None = Field(default=None, ge=1)
    job: JobTemplate
