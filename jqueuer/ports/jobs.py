"""The ledger of jobs, and the queue that hands them out."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import Enum
from typing import Protocol

from cautoscaler import Measured
from jqueuer.model import Job
from jqueuer.records import Activity, Attempt, Claim, Counts, JobPage, JobRecord, Span, Standing, Statistics
from jqueuer.states import JobState


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

        Nothing to run: done, running under a live lease, not yet due, experiment paused, cancelled or deleted. Of jobs
        that were there too often when everything went at once (:meth:`release`) one at a time is given. A running job
        that is open for a second copy (:meth:`hedge`) is given once more, to another container.
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

    def counts_of(self, experiment_ids: Sequence[str]) -> list[Counts]:
        """The :meth:`counts` of several experiments, in their order."""

    def statistics(self, experiment_id: str) -> Statistics:
        """Sums over what ran."""

    def activity(self, experiment_id: str) -> Activity:
        """When a job was last claimed, and when an attempt last ended; the post command's count as well."""

    def measured(self, experiment_id: str) -> Measured:
        """What is known of the jobs' durations, in a size that does not grow with their number.

        Of every attempt but cancelled ones and the post command's; without the start delay, which it cannot know.
        """

    def standing(self, experiment_id: str) -> Standing:
        """Counts, sums, durations and delays, all of one moment."""

    def spans(self, experiment_id: str, *, since: float = 0.0) -> list[Span]:
        """The latest attempts that have ended, a bounded number, and those that run; by their beginnings.

        The post command's are among them; what ended before ``since`` is not.
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

    def due(self, experiment_id: str, limit: int = 1000) -> list[str]:
        """Take the jobs whose back-off has ended (each is returned once per re-queueing)."""

    def reap(self, experiment_id: str, limit: int = 1000) -> list[str]:
        """Re-queue the jobs whose lease ran out (:meth:`due` hands them out) and return their ids.

        A job that lost its lease too often fails instead; one of which another copy runs goes on, and is not returned.
        What runs out beside other leases of its node went together with those (:meth:`release`).
        """

    def release(self, experiment_id: str, container: str | None = None, *, together: bool = False) -> list[str]:
        """As :meth:`reap`, for the job of a container known to be gone.

        None: for all running jobs, because everything is gone at once. That, or what went ``together`` with other busy
        containers, is held against none of them, unless it happens again and again: then such jobs run one at a time,
        and fail at last.
        """

    def job_of(self, experiment_id: str, container: str) -> str | None:
        """The job that a container holds, if any."""

    def store_went_too(self, experiment_id: str, container: str) -> bool:
        """Whether the store's server was started anew since the container claimed the job that it holds."""

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

    def check(self) -> None:
        """Return where the broker answers, else :class:`~jqueuer.errors.StoreUnavailableError`."""

    def purge(self, experiment_id: str) -> None:
        """Throw away the messages that wait, if there is a queue; its consumers stay."""

    def delete(self, experiment_id: str) -> None:
        """Remove the queue with whatever is in it."""
