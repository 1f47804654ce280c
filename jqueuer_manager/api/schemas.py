"""What the API answers with: the JSON of every operation, which is also what the OpenAPI document says.

Moments are seconds since the epoch (``…_at``), durations seconds, sizes bytes.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from pydantic import BaseModel, Field

from jqueuer.quoting import Quote
from jqueuer.records import CommandResult, JournalEntry, Statistics
from jqueuer.states import AttemptOutcome, ExperimentState, JobState, Phase


class JobCounts(BaseModel):
    """Jobs by state."""

    total: int
    queued: int
    running: int
    accomplished: int
    failed: int
    cancelled: int


class Submitted(BaseModel):
    """An experiment was received."""

    id: str
    state: ExperimentState
    jobs: int
    notices: list[str] = Field(description="What its user should know")
    links: dict[str, str]


class BriefForecast(BaseModel):
    """When the last job will end."""

    finish_at: float = Field(description="As likely earlier as later: the P50")
    p80_at: float = Field(description="Until then with 80 %")
    p95_at: float = Field(description="Until then with 95 %")
    probability: float | None = Field(description="To be done before the deadline; null without one")


class ExperimentItem(BaseModel):
    """An experiment in a list."""

    id: str
    name: str
    owner: str = Field(description="The user who submitted it; empty where that was not known then")
    state: ExperimentState
    reason: str
    created_at: float
    deadline_at: float | None
    finished_at: float | None
    source: str
    source_digest: str
    jobs: JobCounts
    forecast: BriefForecast | None = Field(description="As it was kept last; null where no jobs are being run")
    links: dict[str, str]


class ExperimentList(BaseModel):
    """A page of experiments, newest first."""

    experiments: list[ExperimentItem]
    total: int = Field(description="How many match in all")
    next: str | None = Field(description="The next page, if there is one")


class Containers(BaseModel):
    """The experiment's containers: wanted by the last decision, requested of the orchestrator, observed by it."""

    minimum: int
    maximum: int
    wanted: int | None
    requested: int
    starting: int
    running: int = Field(description="Idle or busy")
    busy: int
    draining: int
    waiting: str = Field(description="Why fewer are requested than wanted, and who goes first; else empty")
    problem: str = Field(description="Why containers cannot be started, in the orchestrator's words; else empty")
    note: str = Field(description="What is going on with them while nothing is wrong: an image being pulled, say")


class ForecastModel(BriefForecast):
    """When the last job will end if the containers stay as many as they are."""

    containers: int = Field(description="The number it is for")
    basis: str = Field(description="What it rests on")


class ExperimentDetail(ExperimentItem):
    """Everything about one experiment."""

    phase: Phase
    settled: bool = Field(description="Ended, and nothing of it runs any more")
    containers: Containers
    seconds_left: float | None = Field(description="Until the deadline; negative after it; null where it is over")
    forecast: ForecastModel | None = Field(description="null where no jobs are being run")
    statistics: Statistics
    notices: list[str]
    problem: str = Field(description="The problem of its containers")
    waits_for: str = Field(description="What it waits for while it runs no job; empty while it does, and once it ended")
    description: dict[str, Any] = Field(description="The global parameters, as understood")


class SummaryJobs(BaseModel):
    """Outcomes of the jobs."""

    total: int
    accomplished: int
    failed: int
    cancelled: int


class Summary(BaseModel):
    """What the experiment did; durations since it was received."""

    experiment_id: str
    state: ExperimentState
    jobs: SummaryJobs
    attempts: int
    killed: int
    deadline_seconds: float | None
    finished_seconds: float | None
    deadline_met: bool | None
    container_seconds: float
    job_seconds: float
    peak_containers: int
    scale_ups: int
    scale_downs: int


class Journal(BaseModel):
    """The latest decisions, oldest first."""

    entries: list[JournalEntry]


class JobItem(BaseModel):
    """A job in a list; what it says about an attempt is about the last one."""

    id: str
    index: int
    state: JobState
    attempts: int
    exit_code: int | None
    reason: str
    container: str | None
    node: str | None
    started_at: float | None
    finished_at: float | None
    not_before: float | None = Field(description="When a failed job may run again")
    outputs: int
    links: dict[str, str]


class JobList(BaseModel):
    """A page of jobs in order."""

    jobs: list[JobItem]
    total: int = Field(description="How many match in all")
    next: str | None = Field(description="The next page, if there is one")


class LogModel(BaseModel):
    """A captured stream: how much was written, and where to read what is kept."""

    total_bytes: int
    truncated: bool
    href: str


class OutputModel(BaseModel):
    """A collected output."""

    job: str
    attempt: int
    path: str
    size_bytes: int
    sha256: str
    href: str


class AttemptModel(BaseModel):
    """One attempt at a job."""

    number: int
    container: str
    node: str
    started_at: float
    finished_at: float | None
    outcome: AttemptOutcome | None
    exit_code: int | None
    reason: str
    commands: list[CommandResult]
    outputs: list[OutputModel]
    stdout: LogModel
    stderr: LogModel


class JobDetail(BaseModel):
    """Everything about one job."""

    id: str
    index: int
    state: JobState
    not_before: float | None
    spec: dict[str, Any] = Field(description="The job as described")
    attempts: list[AttemptModel]
    links: dict[str, str]


class OutputList(BaseModel):
    """A page of outputs, in the order of the jobs; a page may be short, or empty, and still have a next one."""

    outputs: list[OutputModel]
    next: str | None = Field(description="The next page, if there is one")


class FileModel(BaseModel):
    """A file that was sent."""

    sha256: str


class RetryModel(BaseModel):
    """How many jobs were queued again."""

    id: str
    state: ExperimentState
    jobs: int


class StateModel(BaseModel):
    """The experiment's state after a command."""

    id: str
    state: ExperimentState


class Limits(BaseModel):
    """What this manager accepts."""

    max_body_bytes: int
    max_input_bytes: int
    max_jobs: int
    max_experiments_per_user: int = Field(description="That have not ended")
    max_page: int


class OfferModel(BaseModel):
    """What is to be expected of one number of containers, all asked for at the beginning."""

    containers: int
    p50_seconds: float = Field(description="From the receipt until the last job has ended: as likely less as more")
    p80_seconds: float
    p95_seconds: float
    probability: float | None = Field(description="To keep the deadline, margin taken off; null without one")
    container_hours: float
    cost: float | None = Field(description="null without a price")


class QuoteModel(BaseModel):
    """Whether an experiment can be promised, and what it would take; durations from the receipt."""

    feasible: bool = Field(description="Deadline and budget are kept with the confidence wanted")
    reason: str
    jobs: int
    confidence: float
    deadline_seconds: float | None
    margin_seconds: float
    earliest_deadline_seconds: float | None = Field(
        description="The earliest deadline that is feasible; null where the budget does not pay for any"
    )
    containers: int | None = Field(description="The fewest that keep it; null where none do, or nothing is to be kept")
    policy: str
    policy_containers: int | None = Field(description="What the policy begins with; null for a policy service")
    budget_container_hours: float | None
    price_per_container_hour: float | None
    start_seconds: float | None = Field(description="How long containers took to start; null where never measured")
    history_jobs: int = Field(description="Jobs of earlier experiments of the same image and name")
    basis: str = Field(description="What it rests on")
    curve: list[OfferModel] = Field(description="Fewest containers first")

    @classmethod
    def of(cls, quote: Quote) -> QuoteModel:
        """The quote as the API answers with it."""
        return cls.model_validate(asdict(quote))


class Health(BaseModel):
    """The manager is there."""

    status: str
    version: str
