"""What the store remembers: the records that manager and agents read and write.

Times are seconds since the epoch unless a name says otherwise; durations are seconds.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from cautoscaler import Measured
from jqueuer.model import Experiment, Frozen, Job
from jqueuer.states import AttemptOutcome, ContainerState, ExperimentState, JobState


class Counts(Frozen):
    """Jobs by state; the total is their sum by construction."""

    queued: int = 0
    running: int = 0
    accomplished: int = 0
    failed: int = 0
    cancelled: int = 0

    @property
    def total(self) -> int:
        """All jobs of the experiment."""
        return self.queued + self.running + self.accomplished + self.failed + self.cancelled

    @property
    def left(self) -> int:
        """Jobs without an outcome; running ones count (paper §V-A)."""
        return self.queued + self.running


class Statistics(Frozen):
    """Sums over everything executed so far."""

    tasks: int = 0
    """Task executions that ended with status 0."""
    task_seconds: float = 0.0
    """Their durations, added up."""
    tasks_defined: int = 0
    """Tasks of all jobs, as described."""
    job_seconds: float = 0.0
    """Durations of accomplished attempts, added up."""
    attempts: int = 0
    killed: int = 0
    """Attempts ended by the loss of their container."""
    container_seconds: float = 0.0
    """Lifetimes of the containers that ended, added up."""
    peak_containers: int = 0
    scale_ups: int = 0
    scale_downs: int = 0

    @property
    def mean_task_seconds(self) -> float | None:
        """The mean over all tasks executed so far, if any was."""
        return self.task_seconds / self.tasks if self.tasks else None


@dataclass(frozen=True, slots=True)
class Standing:
    """How the jobs of an experiment stand at one moment."""

    counts: Counts
    statistics: Statistics
    measured: Measured
    """The durations of its jobs; without the start delay, which nobody tells the store."""
    delayed: int
    """Queued jobs that nobody may run yet: their back-off has not ended, or they were not handed out since."""


class Activity(Frozen):
    """When something last happened to the jobs of an experiment; None where it never did."""

    claimed_at: float | None = None
    """A container took one."""
    ended_at: float | None = None
    """An attempt ended by itself: its container was not lost."""


class ExperimentRecord(Frozen):
    """An accepted experiment."""

    id: str
    description: Experiment
    state: ExperimentState
    created_at: float
    deadline_at: float | None = None
    finished_at: float | None = None
    reason: str = ""
    """Why it is in its state, in words, where there is more to say than the state does."""
    owner: str = ""
    source: str = ""
    """The file it came from, where the client said so; ``jqueuer run`` resumes by it."""
    source_digest: str = ""
    notices: tuple[str, ...] = ()
    published: int = 0
    """Jobs handed to the job queue for the first time so far."""
    told_at_risk: bool = False
    """Somebody was told that its deadline is at risk, and it has not been clearly safe since."""


class CommandResult(Frozen):
    """How one command of a job ended."""

    role: str
    """``pre-job``, ``task 1`` …, ``post-job``."""
    exit_code: int | None
    """None where it was ended by a signal or never started."""
    signal: int | None = None
    seconds: float = 0.0
    problem: str = ""


class OutputFile(Frozen):
    """A collected output: path relative to the working directory, size, checksum."""

    path: str
    size_bytes: int
    sha256: str


class LogRecord(Frozen):
    """One captured stream: small ones stand in the record itself, larger ones with the artifacts."""

    total_bytes: int = 0
    """What the commands wrote; more than is kept where ``truncated``."""
    truncated: bool = False
    inline: str | None = None
    """Base64 of the bytes, for a small log."""


class Attempt(Frozen):
    """One attempt at a job; its number is the fencing token under which it ran."""

    number: int
    container: str
    node: str
    started_at: float
    finished_at: float | None = None
    outcome: AttemptOutcome | None = None
    exit_code: int | None = None
    reason: str = ""
    commands: tuple[CommandResult, ...] = ()
    outputs: tuple[OutputFile, ...] = ()
    stdout: LogRecord = LogRecord()
    stderr: LogRecord = LogRecord()


class JobRecord(Frozen):
    """A job with its state and attempts."""

    index: int
    spec: Job
    state: JobState
    attempts: tuple[Attempt, ...] = ()
    not_before: float | None = None
    """When a failed job may run again."""

    @property
    def deciding(self) -> Attempt | None:
        """The attempt whose outcome is the job's: the one that accomplished it, else the last."""
        accomplished = (one for one in self.attempts if one.outcome is AttemptOutcome.ACCOMPLISHED)
        return next(accomplished, self.attempts[-1] if self.attempts else None)


class Claim(Frozen):
    """The right to run one attempt; worthless once the token is no longer current."""

    experiment_id: str
    job_id: str
    token: Annotated[int, Field(ge=1)]
    container: str
    node: str
    started_at: float
    spec: Job


class ContainerStatus(Frozen):
    """One container as the orchestrator sees it."""

    id: str
    node: str
    state: ContainerState
    started_at: float
    job: str | None = None
    busy_since: float | None = None
    """When its job was claimed."""
    claimed_at: float | None = None
    """When it last claimed one, whether it has ended by now or not."""


class ServiceStatus(Frozen):
    """An experiment service: requested is what was asked for, the containers are what is observed."""

    requested: int
    containers: tuple[ContainerStatus, ...] = ()
    unplaced: int = 0
    """Containers asked for that no node has room for."""
    problem: str = ""
    """Why containers cannot be started, in the orchestrator's own words."""
    note: str = ""
    """What a user should know while nothing is wrong: where the image is being pulled, say."""

    def count(self, *states: ContainerState) -> int:
        """How many containers are in one of these states."""
        return sum(container.state in states for container in self.containers)


class JournalEntry(Frozen):
    """One decision with what it was based on; ``jqueuer explain`` prints these."""

    at: float
    action: str
    """``create``, ``scale-up``, ``scale-down``, ``hold``, ``drain``, ``finish``, ``requeue`` …"""
    containers: int | None = None
    reason: str = ""
    inputs: dict[str, str | int | float | bool | None] = Field(default_factory=dict)


class HistoryPoint(Frozen):
    """How an experiment stood at one moment, for drawing."""

    at: float
    queued: int = 0
    running: int = 0
    accomplished: int = 0
    failed: int = 0
    cancelled: int = 0
    wanted: int | None = None
    """Containers wanted by the policy, room or not; the next is what was asked for, the others are observed."""
    requested: int = 0
    starting: int = 0
    idle: int = 0
    busy: int = 0
    draining: int = 0
    p50_at: float | None = None
    """What was forecast of the last job's end at that moment, or shortly before; None where nothing was."""
    p80_at: float | None = None
    p95_at: float | None = None
    probability: float | None = None
    """That the deadline is met, as was forecast then; None without one."""


class Span(Frozen):
    """Who worked on what from when to when: an attempt at a job, without what it did."""

    job: str
    attempt: int
    container: str
    node: str
    started_at: float
    finished_at: float | None = None
    """None while it runs, as is the outcome."""
    outcome: AttemptOutcome | None = None


class NodeStatus(Frozen):
    """A machine of the cluster, whatever its condition."""

    name: str
    ready: bool
    """It takes containers."""
    condition: str = ""
    """Why it takes none, in the engine's words: ``down``, ``drain`` …"""
    cpu_cores: float
    memory_bytes: int
    reserved_cpu_cores: float = 0.0
    """Of them what containers of experiments and of others have reserved."""
    reserved_memory_bytes: int = 0
    containers: int = 0
    """Containers of experiments there."""


class JobPage(Frozen):
    """One page of jobs and how many there are in all under the same filter."""

    jobs: tuple[JobRecord, ...]
    total: int
