"""The words of the project as frozen values: experiment, job, task and what surrounds them.

The field names are the keys of the native description format, so this module is also its schema.
Durations are seconds, sizes bytes; the types in :mod:`jqueuer.units` read ``90m`` or ``200MiB`` and print them back.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Discriminator, Field, Tag, model_validator

from jqueuer.frozen import Frozen as Frozen
from jqueuer.kinds import MAX_CONTAINERS as MAX_CONTAINERS
from jqueuer.kinds import (
    AbsolutePath,
    Cores,
    EnvironmentName,
    ExperimentName,
    Image,
    RelativePath,
    Scalar,
    ServiceName,
    Sha256,
    Text,
    WholeNumber,
    WorkingDirectory,
)
from jqueuer.kinds import Argument as Argument
from jqueuer.kinds import Argv as Argv
from jqueuer.kinds import JobId as JobId
from jqueuer.notify import Notify as Notify
from jqueuer.policy import Policy as Policy
from jqueuer.units import MAX_DURATION_SECONDS as MAX_DURATION_SECONDS
from jqueuer.units import ByteSize, Deadline, Duration, shown

POST_JOB_ID = "@post"
"""Where the ledger keeps an experiment's ``post`` command; no user can choose this id."""

IMAGE_OWN = "@image"
"""Says that the image decides: about the working directory, or what a container runs while it waits for jobs."""

MAX_TASKS = 10_000

Environment = dict[EnvironmentName, Argument]
Parameters = dict[str, Scalar]
PositiveDuration = Annotated[Duration, Field(gt=0)]


class Shell(Frozen):
    """A command line for ``/bin/sh -c``; the only way a shell is ever involved."""

    shell: Text


def _command_form(value: Any) -> Any:
    if isinstance(value, list | tuple | dict | Shell):
        return value
    if isinstance(value, str):
        raise ValueError(_how_to_write(value))
    raise ValueError(f"expected a list of words such as [python3, run.py], or {{shell: a line}}, got {shown(value)}")


def _how_to_write(line: str) -> str:
    try:
        words = shlex.split(line)
    except ValueError:
        words = []
    if not words or len(line) > 60:
        words, line = ["python3", "run.py"], "python3 run.py"
    return f'a command is a list of words: write [{", ".join(words)}], or {{shell: "{line}"}} for a shell line'


Command = Annotated[
    Annotated[Argv, Tag("<argv>")] | Annotated[Shell, Tag("<shell>")],
    Discriminator(lambda value: "<argv>" if isinstance(value, list | tuple) else "<shell>"),
    BeforeValidator(_command_form),
]
"""An argument vector (``[python3, run.py]``), or a shell line where one is asked for (``{shell: "a | b"}``)."""


def argv_of(command: Command) -> tuple[str, ...]:
    """The argument vector to execute for a command."""
    return ("/bin/sh", "-c", command.shell) if isinstance(command, Shell) else command


class InputFile(Frozen):
    """A file sent with the experiment and laid into the working directory of a job before it starts.

    ``sha256`` names the content; whoever submits fills it in and uploads the content under it. ``source`` is where
    the file lies on the machine that submits, if not under ``path`` beside the description.
    """

    path: RelativePath
    sha256: Sha256 | None = None
    source: Text | None = None

    @model_validator(mode="before")
    @classmethod
    def _from_path(cls, value: Any) -> Any:
        return {"path": value} if isinstance(value, str) else value


class Task(Frozen):
    """The smallest unit: one command. A bare command, or a shell line, is a task without a time-out of its own."""

    command: Command
    timeout: PositiveDuration | None = None

    @model_validator(mode="before")
    @classmethod
    def _from_command(cls, value: Any) -> Any:
        if isinstance(value, str | list | tuple | Shell):
            return {"command": value}
        if isinstance(value, Mapping) and "shell" in value and "command" not in value:
            rest = {key: item for key, item in value.items() if key != "shell"}
            return {"command": {"shell": value["shell"]}, **rest}
        return value


def tasks_of_command(value: Any) -> Any:
    """A job written with ``command`` (and ``timeout``) as one with ``tasks``; everything else as it is."""
    if not isinstance(value, Mapping) or "command" not in value:
        return value
    if "tasks" in value:
        raise ValueError("give a command or tasks, not both")
    task = {key: value[key] for key in ("command", "timeout") if key in value}
    return {**{key: item for key, item in value.items() if key not in task}, "tasks": (task,)}


class Job(Frozen):
    """An optional pre-job command, tasks in order, an optional post-job command; all run in one container.

    A job of one task may be written with ``command`` (and ``timeout``) in place of ``tasks``. An *idempotent* one may
    run twice, even at the same time, without harm.
    """

    id: JobId
    tasks: Annotated[tuple[Task, ...], Field(min_length=1, max_length=MAX_TASKS)]
    pre_job: Command | None = None
    post_job: Command | None = None
    environment: Environment = Field(default={})
    inputs: tuple[InputFile, ...] = ()
    outputs: tuple[RelativePath, ...] = ()
    parameters: Parameters = Field(default={})
    idempotent: Annotated[bool, Field(strict=True)] | None = None

    _from_one_command = model_validator(mode="before")(tasks_of_command)


class Reservation(Frozen):
    """CPU a container is promised (``reserve``) and may not exceed (``limit``), cores."""

    reserve: Cores | None = None
    limit: Cores | None = None

    @model_validator(mode="after")
    def _limit_covers_reserve(self) -> Reservation:
        if self.reserve is not None and self.limit is not None and self.reserve > self.limit:
            raise ValueError(f"reserve {self.reserve:g} is more than limit {self.limit:g}")
        return self


class MemoryReservation(Frozen):
    """Memory promised and memory allowed, bytes."""

    reserve: ByteSize | None = Field(default=None, gt=0)
    limit: ByteSize | None = Field(default=None, gt=0)

    @model_validator(mode="after")
    def _limit_covers_reserve(self) -> MemoryReservation:
        if self.reserve is not None and self.limit is not None and self.reserve > self.limit:
            raise ValueError(f"reserve ({self.reserve} bytes) is more than limit ({self.limit} bytes)")
        return self


class Resources(Frozen):
    """Resources of one container: CPU in cores, memory in bytes."""

    cpu: Reservation = Reservation()
    memory: MemoryReservation = MemoryReservation()


class ContainerLimits(Frozen):
    """The fewest and the most containers the autoscaler may ask for."""

    min: WholeNumber = Field(default=1, ge=0, le=MAX_CONTAINERS)
    max: WholeNumber = Field(default=1, ge=1, le=MAX_CONTAINERS)

    @model_validator(mode="after")
    def _min_within_max(self) -> ContainerLimits:
        if self.min > self.max:
            raise ValueError(
                f"min {self.min} is more than max {self.max}{'' if 'max' in self.model_fields_set else ', its default'}"
            )
        return self


class FailurePolicy(Frozen):
    """What happens to a job whose task failed (paper §III: re-queued or cancelled). A bare word is the action."""

    action: Literal["requeue", "cancel"] = "requeue"
    max_attempts: WholeNumber = Field(default=3, ge=1, le=1000)
    backoff: Duration = Field(default=0.0, ge=0)
    exit_codes: Annotated[tuple[Annotated[WholeNumber, Field(ge=1, le=255)], ...], Field(min_length=1)] | None = None

    @model_validator(mode="before")
    @classmethod
    def _from_action(cls, value: Any) -> Any:
        return {"action": value} if isinstance(value, str) else value


class Post(Frozen):
    """The experiment's own last command, run once after the last job, with every job's outputs in ``outputs/``."""

    command: Command
    timeout: PositiveDuration | None = None
    environment: Environment = Field(default={})
    inputs: tuple[InputFile, ...] = ()
    outputs: tuple[RelativePath, ...] = ()


class Mount(Frozen):
    """A directory of every node (``source: /data``) or a volume (``source: data``) that containers see at ``target``.

    Written as a mapping or as ``source:target`` with an optional ``:ro``. The manager's settings say what is allowed.
    """

    source: Text
    target: AbsolutePath
    read_only: bool = False

    @model_validator(mode="before")
    @classmethod
    def _from_line(cls, value: Any) -> Any:
        if not isinstance(value, str):
            return value
        source, colon, rest = value.partition(":")
        target, _, mode = rest.partition(":")
        if not colon or mode not in ("", "ro", "rw"):
            raise ValueError(f"expected source:target or source:target:ro, got {shown(value)}")
        return {"source": source, "target": target, "read_only": mode == "ro"}


class Experiment(Frozen):
    """The global parameters of an experiment; its jobs travel beside it, one by one, never all at once.

    ``pre_job``, ``post_job``, ``timeout``, ``environment``, ``inputs``, ``outputs`` and ``idempotent`` are defaults for
    all jobs; :func:`effective_job` applies them. With ``hedge`` a slow idempotent job may get a second copy.
    """

    name: ExperimentName = "experiment"
    image: Image | None = None
    container_name: ServiceName | None = None
    deadline: Deadline | None = None
    containers: ContainerLimits = ContainerLimits()
    resources: Resources = Resources()
    estimate: Duration = Field(default=300.0, gt=0)
    timeout: PositiveDuration | None = None
    environment: Environment = Field(default={})
    working_directory: WorkingDirectory | None = None
    container_command: Annotated[Argv | Literal["@image"] | None, Field(union_mode="left_to_right")] = None
    user: Text | None = None
    networks: tuple[Text, ...] = ()
    mounts: tuple[Mount, ...] = ()
    placement: tuple[Text, ...] = ()
    priority: WholeNumber = Field(default=0, ge=-1000, le=1000)
    policy: Policy = Policy()
    on_failure: FailurePolicy = FailurePolicy()
    pre_job: Command | None = None
    post_job: Command | None = None
    inputs: tuple[InputFile, ...] = ()
    outputs: tuple[RelativePath, ...] = ()
    post: Post | None = None
    append_worker_id: bool = Field(default=False, strict=True)
    idempotent: bool = Field(default=False, strict=True)
    hedge: bool = Field(default=False, strict=True)
    notify: Notify | None = None


def effective_job(experiment: Experiment, job: Job) -> Job:
    """The job as it is run: with the experiment's defaults for commands, time-outs, environment, inputs and outputs.

    The job's own word wins for commands, variables and idempotence; inputs and outputs add up.
    """
    changes: dict[str, Any] = {}
    if job.pre_job is None and experiment.pre_job is not None:
        changes["pre_job"] = experiment.pre_job
    if job.post_job is None and experiment.post_job is not None:
        changes["post_job"] = experiment.post_job
    if job.idempotent is None and experiment.idempotent:
        changes["idempotent"] = True
    if experiment.environment:
        changes["environment"] = {**experiment.environment, **job.environment}
    if experiment.inputs:
        changes["inputs"] = experiment.inputs + job.inputs
    if experiment.outputs:
        changes["outputs"] = experiment.outputs + job.outputs
    if experiment.timeout is not None and any(task.timeout is None for task in job.tasks):
        default = {"timeout": experiment.timeout}
        changes["tasks"] = tuple(
            task if task.timeout is not None else task.model_copy(update=default) for task in job.tasks
        )
    return job.model_copy(update=changes) if changes else job
