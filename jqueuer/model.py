"""The words of the project as frozen values: experiment, job, task and what surrounds them.

The field names are the keys of the native description format, so this module is also its schema.
Durations are seconds, sizes bytes; the types in :mod:`jqueuer.units` read ``90m`` or ``200MiB`` and print them back.
"""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, model_validator

from jqueuer.units import ByteSize, Duration

JobId = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$")]
"""A job's name within its experiment: letters, digits, dot, dash, underscore; never a path."""

POST_JOB_ID = "@post"
"""The id under which an experiment's ``post`` command runs; no user can choose it."""

MAX_CONTAINERS = 10_000
MAX_DURATION_SECONDS = 366 * 86_400.0


class Frozen(BaseModel):
    """A value: immutable, and strict about keys it does not know."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class Shell(Frozen):
    """A command line for ``/bin/sh -c``; the only way a shell is ever involved."""

    shell: Annotated[str, StringConstraints(min_length=1)]


Argument = Annotated[str, StringConstraints(pattern=r"^[^\x00]*$")]
Argv = Annotated[tuple[Argument, ...], Field(min_length=1)]
Command = Argv | Shell
"""An argument vector (``[python3, run.py]``), or a shell line where one is asked for (``{shell: "a | b"}``)."""


def argv_of(command: Command) -> tuple[str, ...]:
    """The argument vector to execute for a command."""
    return ("/bin/sh", "-c", command.shell) if isinstance(command, Shell) else command


class InputFile(Frozen):
    """A file sent with the experiment and laid into the working directory of a job before it starts.

    ``sha256`` names the content; whoever submits fills it in and uploads the content under it.
    """

    path: Annotated[str, StringConstraints(min_length=1, max_length=1024)]
    sha256: Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")] | None = None
    source: str | None = None

    @model_validator(mode="before")
    @classmethod
    def _from_path(cls, value: Any) -> Any:
        return {"path": value} if isinstance(value, str) else value


class Task(Frozen):
    """The smallest unit: one command."""

    command: Command
    timeout: Duration | None = None


class Job(Frozen):
    """An optional pre-job command, tasks in order, an optional post-job command; all run in one container."""

    id: JobId
    tasks: Annotated[tuple[Task, ...], Field(min_length=1)]
    pre_job: Command | None = None
    post_job: Command | None = None
    environment: dict[str, str] = {}
    inputs: tuple[InputFile, ...] = ()
    outputs: tuple[str, ...] = ()
    parameters: dict[str, str | int | float | bool] = {}


class Reservation(Frozen):
    """What a container is promised (``reserve``) and what it may not exceed (``limit``)."""

    reserve: float | None = Field(default=None, gt=0)
    limit: float | None = Field(default=None, gt=0)


class MemoryReservation(Frozen):
    """Memory promised and memory allowed, bytes."""

    reserve: ByteSize | None = None
    limit: ByteSize | None = None


class Resources(Frozen):
    """Resources of one container: CPU in cores, memory in bytes."""

    cpu: Reservation = Reservation()
    memory: MemoryReservation = MemoryReservation()


class ContainerLimits(Frozen):
    """The fewest and the most containers the autoscaler may ask for."""

    min: int = Field(default=1, ge=0, le=MAX_CONTAINERS)
    max: int = Field(default=1, ge=1, le=MAX_CONTAINERS)


class FailurePolicy(Frozen):
    """What happens to a job whose task failed (paper §III: re-queued or cancelled)."""

    action: Literal["requeue", "cancel"] = "requeue"
    max_attempts: int = Field(default=3, ge=1, le=1000)
    backoff: Duration = Field(default=0.0, ge=0)
    exit_codes: tuple[int, ...] | None = None


class Policy(Frozen):
    """How many containers: a policy by name, or a REST service that is asked (paper §III-A)."""

    name: str = "deadline-paper"
    margin: Duration = Field(default=0.0, ge=0)
    containers: int | None = Field(default=None, ge=0, le=MAX_CONTAINERS)
    period: Duration | None = Field(default=None, gt=0)
    url: str | None = None
    timeout: Duration = Field(default=5.0, gt=0, le=60)
    fallback: str = "deadline-paper"


class Post(Frozen):
    """The experiment's own last command, run once after the last job, with every job's outputs in ``outputs/``."""

    command: Command
    timeout: Duration | None = None
    environment: dict[str, str] = {}
    inputs: tuple[InputFile, ...] = ()
    outputs: tuple[str, ...] = ()


class Experiment(Frozen):
    """The global parameters of an experiment; its jobs travel beside it, one by one, never all at once."""

    name: Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9 ._-]{0,62}$")] = "experiment"
    image: str | None = None
    container_name: str | None = None
    deadline: Duration | datetime | None = None
    containers: ContainerLimits = ContainerLimits()
    resources: Resources = Resources()
    estimate: Duration = Field(default=300.0, gt=0)
    timeout: Duration | None = None
    environment: dict[str, str] = {}
    working_directory: str | None = None
    priority: int = Field(default=0, ge=-1000, le=1000)
    policy: Policy = Policy()
    on_failure: FailurePolicy = FailurePolicy()
    pre_job: Command | None = None
    post_job: Command | None = None
    inputs: tuple[InputFile, ...] = ()
    outputs: tuple[str, ...] = ()
    post: Post | None = None
    append_worker_id: bool = False
