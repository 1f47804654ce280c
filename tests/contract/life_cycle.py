"""The life of a job as it should be, in a few lines and without a store: what the real ledger is compared with."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from jqueuer.model import POST_JOB_ID
from jqueuer.ports import Renewal
from jqueuer.states import AttemptOutcome, ExperimentState, JobState

LOST_LIMIT = 3
"""Containers that a job may lose alone."""
GONE_LIMIT = 4 * LOST_LIMIT
"""How often it may be there when everything goes at once."""
FAILURE_LIMIT = 3
_TAKING = (ExperimentState.RUNNING, ExperimentState.FINISHING)


@dataclass
class ModelJob:
    """One job; the post command is one, too."""

    id: str
    idempotent: bool = False
    state: JobState = JobState.QUEUED
    token: int = 0
    holders: dict[int, str] = field(default_factory=dict)
    """Current tokens, and the containers that have them."""
    expired: set[int] = field(default_factory=set)
    """Those of them whose lease ran out, which nobody noticed yet."""
    outcomes: dict[int, AttemptOutcome | None] = field(default_factory=dict)
    waits: bool = False
    """Queued again, and nobody was told."""
    backing_off: bool = False
    requeued: bool = False
    """Queued again after an attempt, since its user last asked for it."""
    counted: Counter[str] = field(default_factory=Counter)
    """What is held against it: ``lost``, ``gone``, ``failed``."""
    last_chance: bool = False
    hedge: str = ""
    """``open`` for a second copy, or ``used``."""
    causes: int = 1
    """Why it may run: for the first time, and once more for every fault, declared retry and second copy."""

    def claim(self, container: str, experiment: ExperimentState) -> int | None:
        """The token given, if any."""
        for token, holder in self.holders.items():
            if holder == container:
                return token
        copy = self.state is JobState.RUNNING and self.hedge == "open"
        first = self.state is JobState.QUEUED and not self.backing_off
        if experiment not in _TAKING or not (copy or first):
            return None
        if copy:
            self.hedge = "used"
            self.causes += 1
        self.token += 1
        self.state, self.waits = JobState.RUNNING, False
        self.holders[self.token] = container
        self.outcomes[self.token] = None
        return self.token

    def renew(self, token: int, experiment: ExperimentState) -> Renewal:
        """The answer to a heartbeat."""
        if token not in self.holders:
            return Renewal.LOST
        if experiment is ExperimentState.CANCELLED:
            return Renewal.CANCELLED
        self.expired.discard(token)
        return Renewal.KEPT

    def finish(
        self, token: int, outcome: AttemptOutcome, experiment: ExperimentState, *, retry: bool
    ) -> JobState | None:
        """The answer to an outcome: the new state, or None where the token is not current."""
        if token not in self.holders:
            return None
        if outcome is AttemptOutcome.KILLED:
            self.lose(token, experiment, "lost")
            self.outcomes[token] = outcome
        elif outcome is AttemptOutcome.ACCOMPLISHED:
            self._end(token, outcome)
            for slower in list(self.holders):
                self._end(slower, AttemptOutcome.CANCELLED)
            self._settle(JobState.ACCOMPLISHED)
        else:
            self._fail(token, outcome, experiment, retry=retry)
        return self.state

    def _fail(self, token: int, outcome: AttemptOutcome, experiment: ExperimentState, *, retry: bool) -> None:
        self._end(token, outcome)
        over = outcome is AttemptOutcome.CANCELLED or experiment is ExperimentState.CANCELLED
        self.counted["failed"] += retry and not over
        again = retry and not over and self.counted["failed"] < FAILURE_LIMIT
        self.last_chance = self.last_chance or not (over or again)
        if self.holders:
            return
        if over:
            self._settle(JobState.CANCELLED)
        elif self.last_chance:
            self._settle(JobState.FAILED)
        else:
            self._requeue(backing_off=True)

    def lose(self, token: int, experiment: ExperimentState, blame: str) -> bool:
        """A container went away under it; whether another copy goes on."""
        self.counted[blame] += 1
        self._end(token, AttemptOutcome.LOST)
        limit = LOST_LIMIT if blame == "lost" else GONE_LIMIT
        self.last_chance = self.last_chance or self.counted[blame] >= limit
        if self.holders:
            return True
        if experiment is ExperimentState.CANCELLED:
            self._settle(JobState.CANCELLED)
        elif self.last_chance:
            self._settle(JobState.FAILED)
        else:
            self._requeue(backing_off=False)
        return False

    def _end(self, token: int, outcome: AttemptOutcome) -> None:
        del self.holders[token]
        self.expired.discard(token)
        self.outcomes[token] = outcome

    def _requeue(self, *, backing_off: bool) -> None:
        self._settle(JobState.QUEUED)
        self.waits, self.backing_off, self.requeued = True, backing_off, True
        self.causes += 1

    def _settle(self, state: JobState) -> None:
        self.state, self.last_chance = state, False
        self.hedge = "" if self.hedge == "open" else self.hedge

    def may_be_hedged(self, experiment: ExperimentState) -> bool:
        """Whether it is opened for a second copy."""
        running = self.state is JobState.RUNNING and experiment is ExperimentState.RUNNING
        return running and self.idempotent and self.hedge != "used"

    def cancel(self) -> None:
        """Only what is queued."""
        if self.state is JobState.QUEUED:
            self._settle(JobState.CANCELLED)
            self.waits = self.backing_off = False

    def retry(self) -> bool:
        """Only what failed or was cancelled."""
        if self.state not in (JobState.FAILED, JobState.CANCELLED):
            return False
        self.state, self.hedge = JobState.QUEUED, ""
        self.waits, self.backing_off, self.requeued = True, False, False
        self.counted.clear()
        self.causes += 1
        return True


@dataclass
class ModelExperiment:
    """An experiment with its jobs, its post command, and the messages that are in its queue."""

    state: ExperimentState = ExperimentState.RUNNING
    jobs: dict[str, ModelJob] = field(default_factory=dict)
    post: ModelJob | None = None
    former_post: ModelJob | None = None
    """The one before a retry: the next goes on with its tokens."""
    waiting: Counter[str] = field(default_factory=Counter)
    """Messages in the queue, by job."""

    def everything(self) -> Iterable[ModelJob]:
        """Jobs and post command."""
        yield from self.jobs.values()
        if self.post is not None:
            yield self.post

    def add_post(self) -> None:
        """Queue the post command, unless it was."""
        if self.post is None:
            self.post = ModelJob(POST_JOB_ID)
            if (former := self.former_post) is not None:
                self.post.token, self.post.outcomes = former.token, former.outcomes
                self.post.causes = former.causes + 1

    def named(self, job_id: str) -> ModelJob | None:
        """The job of this id, or the post command."""
        return self.post if job_id == POST_JOB_ID else self.jobs.get(job_id)

    def held_by(self, container: str) -> ModelJob | None:
        """The job that a container has a current token of."""
        return next((job for job in self.everything() if container in job.holders.values()), None)

    def lose(self, containers: Iterable[str] | None) -> list[str]:
        """These containers are gone, or all; the jobs that nobody runs any more."""
        named = None if containers is None else set(containers)
        blame = "gone" if named is None else "lost"
        return [
            job.id
            for job in self.everything()
            for token, container in list(job.holders.items())
            if (named is None or container in named) and not job.lose(token, self.state, blame)
        ]

    def reap(self) -> list[str]:
        """Leases that ran out are noticed; the jobs that nobody runs any more."""
        return [
            job.id
            for job in self.everything()
            for token in sorted(job.expired)
            if not job.lose(token, self.state, "lost")
        ]

    def cancel(self) -> None:
        """What is queued is."""
        for job in self.everything():
            job.cancel()

    def retry(self) -> int:
        """Failed and cancelled jobs are queued again, and the post command is to run after them once more; how many."""
        if self.post is not None and self.post.state.terminal:
            self.former_post, self.post = self.post, None
        return sum(job.retry() for job in self.jobs.values())
