"""The ports: what the project asks of stores, queues, orchestrators and engines.

Each says who calls it and what failure means. Adapters live in ``adapters`` packages; one contract suite in
``tests/contract`` runs against every adapter of a port. Any method may raise
:class:`~jqueuer.errors.StoreUnavailableError`; callers in loops log it and try again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import BinaryIO, Protocol

from cautoscaler import Measured
from jqueuer.model import Experiment, Job
from jqueuer.records import (
    Attempt,
    Claim,
    CommandResult,
    ContainerStatus,
    Counts,
    ExperimentRecord,
    JobPage,
    JobRecord,
    JournalEntry,
    OutputFile,
    ServiceStatus,
    Statistics,
)
from jqueuer.scheduling import Node
from jqueuer.settings import Settings
from jqueuer.states import ExperimentState, JobState


class ExperimentStore(Protocol):
    """The experiments and what was decided about them. Called by the manager; agents read."""

    def create(self, record: ExperimentRecord) -> None:
        """Remember a new experiment, in state ``receiving``: nothing else sees it until :meth:`accept`."""

    def accept(self, experiment_id: str) -> None:
        """All jobs are stored: the experiment is ``running``; from here on nothing may lose it."""

    def get(self, experiment_id: str) -> ExperimentRecord:
        """The record; :class:`~jqueuer.errors.NotFoundError` if there is none or it is still being received."""

    def page(
        self, *, states: Sequence[ExperimentState] = (), offset: int = 0, limit: int = 50
    ) -> tuple[list[ExperimentRecord], int]:
        """Experiments, newest first, and how many match in all."""

    def active(self) -> list[str]:
        """Ids of accepted experiments that are not settled; the paper's *experiment queue*."""

    def unfinished_receipts(self) -> list[str]:
        """Ids still in ``receiving``; left over by a manager that died, to be deleted at its start."""

    def move(
        self,
        experiment_id: str,
        expected: Sequence[ExperimentState],
        state: ExperimentState,
        *,
        reason: str = "",
    ) -> bool:
        """Change the state if it is one of the expected ones; False (and no change) otherwise.

        A terminal state stamps ``finished_at`` with the store's clock, any other clears it.
        """

    def finished_like(self, description: Experiment) -> list[str]:
        """Ids of accomplished and failed experiments of the same image and name, the latest first; a bounded number.

        Without an image the same name is enough; without either there is nothing to tell what is alike.
        """

    def settle(self, experiment_id: str) -> None:
        """Nothing of it runs any more: no longer among the active ones, unless it is running again meanwhile."""

    def amend(
        self,
        experiment_id: str,
        *,
        deadline_at: float | None = None,
        minimum: int | None = None,
        maximum: int | None = None,
    ) -> ExperimentRecord:
        """Change deadline or container limits of an experiment; what is None stays."""

    def set_published(self, experiment_id: str, count: int) -> None:
        """Remember how many jobs were handed to the queue."""

    def journal(self, experiment_id: str, entry: JournalEntry) -> None:
        """Append a decision; old ones are dropped beyond the configured number."""

    def decisions(self, experiment_id: str, *, limit: int = 200) -> list[JournalEntry]:
        """The latest decisions, oldest first."""

    def delete(self, experiment_id: str) -> None:
        """Forget the experiment, its jobs and its journal; for a day :meth:`was_deleted` tells that it was here."""

    def was_deleted(self, experiment_id: str) -> bool:
        """Whether an accepted experiment of this id was deleted lately.

        Asked by agents that find containers of an experiment nobody knows: those of a deleted one are theirs to end,
        those of one that was never here are somebody else's.
        """

    def remember_key(self, key: str, digest: str, experiment_id: str) -> tuple[str, str]:
        """First use of an Idempotency-Key wins: returns the (digest, experiment id) that stands for it now."""

    def forget_key(self, key: str, experiment_id: str) -> None:
        """The request behind the key failed; it may be tried again, if this experiment stands for it."""

    def now(self) -> float:
        """The store's clock, seconds since the epoch: one clock for all machines."""


class Renewal(Enum):
    """The answer to a heartbeat."""

    KEPT = "kept"
    LOST = "lost"
    CANCELLED = "cancelled"


class JobLedger(Protocol):
    """The truth about jobs: a claim is a lease with a fencing token, an outcome is recorded once.

    ``POST_JOB_ID`` names the experiment's post command; it is claimed and finished like a job but counted nowhere.
    """

    def add(self, experiment_id: str, jobs: Sequence[Job]) -> None:
        """Append jobs in order; :class:`~jqueuer.errors.ConflictError` names an id that is there already."""

    def add_post(self, experiment_id: str, job: Job) -> None:
        """Queue the post command, unless it was queued before."""

    def claim(self, experiment_id: str, job_id: str, *, container: str, node: str) -> Claim | None:
        """The next attempt at a queued job under a fresh token, or None where there is nothing to run.

        Nothing to run: done, running under a live lease, not yet due, experiment paused, cancelled or deleted. A
        running job that is open for a second copy (:meth:`hedge`) is given once more, to another container.
        """

    def renew(self, claim: Claim) -> Renewal:
        """Heartbeat of a running attempt: extends the lease, and tells when to stop.

        An attempt that another copy was faster than has lost its lease like one whose lease ran out.
        """

    def finish(self, claim: Claim, attempt: Attempt, *, retry: bool = True) -> JobState | None:
        """Record how the attempt ended; the job's new state, or None if the token was no longer current.

        A failed attempt is re-queued while attempts are left and ``retry`` holds; the manager publishes it when due.
        Of two copies the first that accomplishes the job decides: the other is recorded as cancelled, its token worth
        nothing from then on. One that ends otherwise is recorded and leaves the job to the other, as its last chance
        where the job would have failed without it.
        """

    def hedgeable(self, experiment_id: str, job_ids: Sequence[str]) -> set[str]:
        """Those of the jobs that run, may run twice at the same time (``idempotent``), and had no second copy yet."""

    def hedge(self, experiment_id: str, job_id: str) -> bool:
        """Open a :meth:`hedgeable` job for one second claim; False, and no change, where it is none (any more).

        Who repeats it before the copy was claimed hears True again: its message may be published once more. There is
        at most one copy of a job, whatever becomes of it, until its user retries the job.
        """

    def counts(self, experiment_id: str) -> Counts:
        """Jobs by state."""

    def statistics(self, experiment_id: str) -> Statistics:
        """Sums over what ran."""

    def measured(self, experiment_id: str) -> Measured:
        """What is known of the jobs' durations, in a size that does not grow with their number.

        Of every attempt but cancelled ones and the post command's; without the start delay, which it cannot know.
        """

    def record_scale(self, experiment_id: str, *, up: int = 0, down: int = 0, containers: int = 0) -> None:
        """Count scale actions and remember the peak of containers."""

    def page(
        self, experiment_id: str, *, state: JobState | None = None, search: str = "", offset: int = 0, limit: int = 50
    ) -> JobPage:
        """Jobs in order, by state and by a substring of the id."""

    def job(self, experiment_id: str, job_id: str) -> JobRecord:
        """One job with its attempts; :class:`~jqueuer.errors.NotFoundError` if there is none."""

    def ids(self, experiment_id: str, start: int, count: int) -> list[str]:
        """Job ids by position, for publishing in batches."""

    def queued(self, experiment_id: str, start: int, count: int) -> list[str]:
        """Ids of queued jobs that are due, for rebuilding a queue that lost its messages."""

    def requeued(self, experiment_id: str, job_ids: Sequence[str]) -> set[str]:
        """Those of the queued jobs that were re-queued after an attempt, not queued afresh by :meth:`retry_failed`."""

    def delayed(self, experiment_id: str) -> int:
        """Queued jobs that nobody may run yet: their back-off has not ended or :meth:`due` has not handed them out."""

    def due(self, experiment_id: str, limit: int = 1000) -> list[str]:
        """Take the jobs whose back-off has ended (each is returned once per re-queueing)."""

    def reap(self, experiment_id: str, limit: int = 1000) -> list[str]:
        """Re-queue the jobs whose lease ran out (:meth:`due` hands them out) and return their ids.

        A job that lost its lease too often fails instead; one of which another copy runs goes on, and is not returned.
        """

    def release(self, experiment_id: str, container: str | None = None) -> list[str]:
        """As :meth:`reap`, for the job of a container known to be gone.

        None: for all running jobs, because everything is gone at once; that is not held against any of them.
        """

    def cancel(self, experiment_id: str) -> None:
        """Cancel what is queued. Where the experiment's state is ``cancelled``, running jobs learn it by heartbeat."""

    def retry_failed(self, experiment_id: str) -> int:
        """Queue failed and cancelled jobs again with fresh attempts (:meth:`due` hands them out); how many."""


class JobQueue(Protocol):
    """The queue dedicated to one experiment. A message carries ids, never the truth; duplicates are harmless."""

    def publish(self, experiment_id: str, job_ids: Iterable[str], *, again: bool = False) -> int:
        """Put messages into the experiment's queue, confirmed where the broker can; how many.

        Jobs published ``again`` are handed out before all others, each kind in the order of its publication.
        """

    def length(self, experiment_id: str) -> int:
        """Messages waiting, not counting those being worked on; 0 where there is no queue."""

    def delete(self, experiment_id: str) -> None:
        """Remove the queue with whatever is in it."""


class Orchestrator(Protocol):
    """Runs the experiment services. Called by the experiment controllers; every call is idempotent."""

    def create(self, experiment_id: str, description: Experiment, containers: int) -> None:
        """Create the service, or adopt the one that is there."""

    def scale(self, experiment_id: str, containers: int) -> None:
        """Request a number of containers; a busy one that is no longer wanted drains."""

    def status(self, experiment_id: str) -> ServiceStatus | None:
        """What runs now; None if there is no such service."""

    def destroy(self, experiment_id: str) -> None:
        """Remove the service; busy containers drain."""

    def nodes(self) -> tuple[Node, ...] | None:
        """The nodes with what they have room for; None where containers are not limited by nodes."""

    def problems(self, description: Experiment) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """(why this experiment cannot run here, what its user should know), both in words."""


class AgentArtifacts(Protocol):
    """Bytes too large for records, as agents bring and fetch them: inputs, logs, outputs.

    Every method may raise :class:`~jqueuer.errors.StoreUnavailableError` and may then be called again with the same
    arguments; :class:`~jqueuer.errors.RefusedError` means that repeating it is of no use.
    """

    def fetch_input(self, sha256: str, destination: Path) -> None:
        """Copy an input to a path; :class:`~jqueuer.errors.NotFoundError` if nobody sent it."""

    def write_log(self, experiment_id: str, job_id: str, attempt: int, stream: str, start: int, data: bytes) -> None:
        """Keep bytes of a captured stream (``stdout`` or ``stderr``) from position ``start`` on.

        Writing the same bytes again changes nothing: who got no answer may repeat it.
        """

    def put_output(self, experiment_id: str, job_id: str, attempt: int, path: str, source: Path) -> OutputFile:
        """Keep an output; the source file may be moved away."""

    def fetch_output(self, experiment_id: str, job_id: str, attempt: int, path: str, destination: Path) -> None:
        """Copy an output to a path; :class:`~jqueuer.errors.NotFoundError` if there is none."""


class Artifacts(AgentArtifacts, Protocol):
    """The same where the bytes lie: what the manager does with them besides."""

    def put_input(self, sha256: str, stream: BinaryIO) -> int:
        """Keep a file under its checksum; :class:`ValueError` if the content does not match it. Returns its size."""

    def has_input(self, sha256: str) -> bool:
        """Whether the file is here already; who asks is about to rely on it, so it counts as new again."""

    def delete_inputs(self, before: float) -> int:
        """Remove inputs that nobody sent or asked for since a moment (seconds since the epoch); how many."""

    def open_input(self, sha256: str) -> BinaryIO:
        """An input's content; :class:`~jqueuer.errors.NotFoundError` if nobody sent it."""

    def read_log(
        self, experiment_id: str, job_id: str, attempt: int, stream: str, start: int, length: int
    ) -> tuple[bytes, int]:
        """Bytes of a captured stream from ``start``, and its size; empty where nothing was captured."""

    def receive_output(self, experiment_id: str, job_id: str, attempt: int, path: str, stream: BinaryIO) -> OutputFile:
        """As :meth:`put_output`, from a stream; of one that breaks off nothing is kept."""

    def open_output(self, experiment_id: str, job_id: str, attempt: int, path: str) -> BinaryIO:
        """An output's content; :class:`~jqueuer.errors.NotFoundError` if there is none."""

    def delete(self, experiment_id: str) -> None:
        """Remove logs and outputs of an experiment."""


class Containers(Protocol):
    """The agent's view of the containers on its node. Called by the container updater."""

    farewell_seconds: float
    """How long an agent that is told to go waits to be told which idle containers are to go as well.

    0 where containers do not outlive their agent: it ends each as soon as its job is done, and looks for no more.
    """

    def list(self) -> list[ContainerHandle]:
        """Containers of experiments on this node that are up, draining ones included."""

    def ready(self, handle: ContainerHandle) -> None:
        """The container's manager is up: it can take jobs."""

    def end(self, handle: ContainerHandle, *, planned: bool) -> None:
        """End a container whose manager has stopped: its processes, then itself."""

    def leave(self, handle: ContainerHandle) -> None:
        """The agent goes and the container's manager has stopped: end it, unless the next agent can take it over."""


@dataclass(frozen=True)
class ContainerHandle:
    """A container as its agent sees it."""

    id: str
    experiment_id: str
    draining: bool


class Workspace(Protocol):
    """The working directory of a container's jobs, emptied between them. Called by the container manager."""

    @property
    def directory(self) -> str:
        """Its path inside the container."""

    def clear(self) -> None:
        """Empty it."""

    def put(self, path: str, fetch: Callable[[Path], None]) -> None:
        """Lay a file into it, at the latest by :meth:`placed`; ``fetch`` writes the content to the path it is given."""

    def placed(self) -> None:
        """All that was put is in its place."""

    def find(self, patterns: Sequence[str]) -> list[Sequence[tuple[str, Path]]]:
        """For each glob the regular files inside it that match: path relative to it, and where to read it."""


class Executor(Protocol):
    """Runs commands inside one container, one at a time. Called by the container manager.

    :class:`~jqueuer.errors.ContainerGoneError` where the container died: the attempt has no outcome then.
    """

    @property
    def ended(self) -> bool:
        """Whether the container had to be ended, because a command could not be alone: nothing runs in it any more."""

    def run(
        self,
        argv: Sequence[str],
        *,
        environment: dict[str, str],
        working_directory: str | None,
        timeout_seconds: float | None,
        write: Callable[[str, bytes], None],
        keep_going: Callable[[], bool],
        role: str,
    ) -> CommandResult:
        """Run to the end, to the time-out, or until ``keep_going`` (asked at each heartbeat) says no.

        ``write`` takes ("stdout" | "stderr", bytes) as they come. Whatever way it ends, the whole process tree is gone.
        """


class Workplace(Protocol):
    """Where a container manager works; made in the agent's process, opened in the manager's."""

    def open(self, experiment: Experiment, settings: Settings) -> tuple[Executor, Workspace, dict[str, str]]:
        """How to run commands in the container, its files, and the environment all its commands begin with."""


class ContainerRegistry(Protocol):
    """Where agents and the orchestrator meet: what is requested (of a local engine), what is observed."""

    def request(self, experiment_id: str, containers: int) -> None:
        """Ask for a number of containers."""

    def requested(self) -> dict[str, int]:
        """All services and their requested numbers."""

    def withdraw(self, experiment_id: str) -> None:
        """The service is no longer wanted; its containers drain."""

    def observe(self, experiment_id: str, status: ContainerStatus) -> None:
        """Record a container and its state."""

    def observed(self, experiment_id: str) -> list[ContainerStatus]:
        """The recorded containers."""

    def mark_draining(self, experiment_id: str, container_ids: Iterable[str]) -> None:
        """The orchestrator has given these containers up: their agent lets them finish and ends them."""

    def draining(self, experiment_id: str) -> set[str]:
        """The containers marked so and not ended since."""

    def ended(self, experiment_id: str, container_id: str) -> None:
        """A container is gone; its lifetime is added to the experiment's container-seconds."""

    def forget(self, experiment_id: str, container_id: str) -> None:
        """A container died with its engine, nobody knows when: its lifetime is not counted."""
