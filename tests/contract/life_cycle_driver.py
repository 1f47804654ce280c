"""What can happen to the jobs of an experiment, done to the real store and broker and to the model, and compared."""

from __future__ import annotations

import itertools
import os
from dataclasses import dataclass, field

import pytest

from jqueuer.adapters.celery_queue import CeleryJobQueue
from jqueuer.adapters.redis_store import RedisExperimentStore, RedisJobLedger, connect
from jqueuer.adapters.redis_store.connection import StoreClient
from jqueuer.adapters.redis_store.experiments import experiment_key
from jqueuer.adapters.valkey import ValkeyServer
from jqueuer.errors import ConflictError
from jqueuer.model import POST_JOB_ID, Experiment, Job, Task
from jqueuer.records import Attempt, Claim, ExperimentRecord
from jqueuer.states import AttemptOutcome, ExperimentState, JobState
from tests.contract.life_cycle import FAILURE_LIMIT, LOST_LIMIT, ModelExperiment, ModelJob
from tests.contract.life_cycle_look import Look, Unchanged, of_store
from tests.contract.queue_hands import Hands

RUNNING, PAUSED, FINISHING = ExperimentState.RUNNING, ExperimentState.PAUSED, ExperimentState.FINISHING
CANCELLED, FAILED, ACCOMPLISHED = ExperimentState.CANCELLED, ExperimentState.FAILED, ExperimentState.ACCOMPLISHED
DESCRIPTION = Experiment.model_validate(
    {
        "idempotent": True,
        "hedge": True,
        "on_failure": {"action": "requeue", "max_attempts": FAILURE_LIMIT, "backoff": "1h"},
    }
)
_numbers = itertools.count()


def _a_job(job_id: str, *, idempotent: bool = True) -> Job:
    return Job(id=job_id, tasks=(Task(command=("/bin/true",)),), idempotent=idempotent)


@dataclass
class Driver:
    """One experiment; its server may die, its broker is where its messages are."""

    server: ValkeyServer
    queue: CeleryJobQueue
    hands: Hands
    id: str = field(default_factory=lambda: f"model-{os.getpid()}-{next(_numbers)}")
    model: ModelExperiment = field(default_factory=ModelExperiment)
    claims: list[Claim] = field(default_factory=list)
    """Every one that was ever given, the latest last."""

    def __post_init__(self) -> None:
        self.client: StoreClient = connect(self.server.store_url)
        self.experiments = RedisExperimentStore(self.client)
        # Leases of a day do not run out by themselves.
        self.ledger = RedisJobLedger(self.client, lease_seconds=86_400, max_lost_attempts=LOST_LIMIT)
        self.look = Look(self.client, self.ledger, self.id)
        self.hands.experiment_id = self.id
        self.experiments.create(
            ExperimentRecord(id=self.id, description=DESCRIPTION, state=ExperimentState.RECEIVING, created_at=1.0)
        )
        self.add(2)
        self.experiments.accept(self.id)

    def close(self) -> None:
        """Nothing of it is left."""
        self.hands.let_go()
        self.queue.delete(self.id)
        self.experiments.delete(self.id)
        self.client.close()

    # -- jobs and their messages

    def add(self, count: int) -> None:
        first = len(self.model.jobs)
        jobs = [ModelJob(f"j{number}", idempotent=number % 3 != 1) for number in range(first, first + count)]
        self.ledger.add(self.id, [_a_job(job.id, idempotent=job.idempotent) for job in jobs])
        self.model.jobs |= {job.id: job for job in jobs}

    def add_what_is_there(self) -> None:
        with self._unchanged(), pytest.raises(ConflictError):
            self.ledger.add(self.id, [_a_job("new"), _a_job("j0")])

    def add_post(self) -> None:
        self.ledger.add_post(self.id, _a_job("post"))
        self.model.add_post()

    def publish(self, job: ModelJob, *, again: bool, times: int) -> None:
        assert self.queue.publish(self.id, [job.id] * times, again=again) == times
        self.model.waiting[job.id] += times

    def publish_queued(self) -> None:
        """As the controller does where the queue is empty."""
        queued = self.ledger.queued(self.id, 0, 100)
        self.queue.publish(self.id, queued)
        self.model.waiting.update(queued)

    def publish_due(self) -> None:
        due = self.ledger.due(self.id)
        jobs = [job for job in self.model.everything() if job.waits and not job.backing_off]
        assert sorted(due) == sorted(job.id for job in jobs)
        self.queue.publish(self.id, due, again=True)
        self.model.waiting.update(due)
        for job in jobs:
            job.waits = False

    def take(self) -> None:
        job_id = self.hands.take()
        assert (job_id is not None) == bool(self.model.waiting.total())
        if job_id is not None:
            assert self.model.waiting[job_id]
            self.model.waiting[job_id] -= 1

    def let_go(self) -> None:
        """The consumer's connection ends: what it held comes again."""
        self.model.waiting.update(self.hands.let_go())

    def compare_queue(self) -> None:
        expected = self.model.waiting.total()
        for _ in range(500):  # RabbitMQ takes back what was let go when it has noticed
            if self.queue.length(self.id) == expected:
                return
        assert self.queue.length(self.id) == expected

    # -- attempts

    def claim(self, job_id: str, container: str) -> None:
        job, held = self.model.named(job_id), self.model.held_by(container)
        if held is not None and held is not job:
            return  # a container asks for no other while it has one
        expected = job.claim(container, self.model.state) if job else None
        # A node each: what runs out beside others of its node is another matter (test_poison_jobs.py).
        claim = self.ledger.claim(self.id, job_id, container=container, node=f"n-{container}")
        assert (claim.token if claim else None) == expected
        if claim is not None and claim not in self.claims:
            assert all(claim.token > other.token for other in self.claims if other.job_id == job_id)
            self.claims.append(claim)

    def current(self) -> list[Claim]:
        """The claims that are worth something."""
        return [claim for claim in self.claims if claim.token in self._job_of(claim).holders]

    def late(self) -> list[Claim]:
        """Those that are not, any more."""
        return [claim for claim in self.claims if claim.token not in self._job_of(claim).holders]

    def renew(self, claim: Claim) -> None:
        expected = self._job_of(claim).renew(claim.token, self.model.state)
        assert self.ledger.renew(claim) is expected

    def finish(self, claim: Claim, outcome: AttemptOutcome, *, retry: bool) -> None:
        attempt = Attempt(
            number=claim.token,
            container=claim.container,
            node=claim.node,
            started_at=claim.started_at,
            finished_at=claim.started_at + 2.0,
            outcome=outcome,
        )
        expected = self._job_of(claim).finish(claim.token, outcome, self.model.state, retry=retry)
        if expected is not None:
            assert self.ledger.finish(claim, attempt, retry=retry) is expected
        else:
            with self._unchanged():
                assert self.ledger.finish(claim, attempt, retry=retry) is None

    def hedge(self, job: ModelJob) -> None:
        expected = job.may_be_hedged(self.model.state)
        assert self.ledger.hedge(self.id, job.id) is expected
        job.hedge = "open" if expected else job.hedge

    # -- faults

    def let_lease_run_out(self, claim: Claim) -> None:
        job = self._job_of(claim)
        job.expired.add(claim.token)
        leases = f"{self._lane(job)}:leases"
        alone = self.client.zscore(leases, job.id) is not None
        self.client.zadd(leases, {job.id if alone else f"{job.id} {claim.token}": 1}, xx=True)

    def reap(self) -> None:
        expected = self.model.reap()
        assert sorted(self.ledger.reap(self.id)) == sorted(expected)

    def lose_container(self, container: str | None) -> None:
        """None: everything goes at once."""
        expected = self.model.lose(None if container is None else [container])
        assert sorted(self.ledger.release(self.id, container)) == sorted(expected)

    def end_back_offs(self) -> None:
        for job in self.model.everything():
            if job.backing_off:
                job.backing_off = False
                self.client.zadd(f"{self._lane(job)}:due", {job.id: 1}, xx=True)
                self.client.hset(f"{self._lane(job)}:job:{job.id}", "not_before", 1)

    def kill_store(self) -> None:
        """I4: what was answered is there afterwards. A broker that is the same server dies with it."""
        self.let_go()
        before = of_store(self.client, self.id)
        self.server.kill()
        self.server.start()
        assert of_store(self.client, self.id) == before

    # -- the experiment

    def move(self, new: ExperimentState) -> None:
        over = not any(job.state in (JobState.QUEUED, JobState.RUNNING) for job in self.model.jobs.values())
        allowed = {
            PAUSED: [RUNNING],
            RUNNING: [PAUSED],
            CANCELLED: [RUNNING, PAUSED, FINISHING],
            FINISHING: [RUNNING] if over else [],
            FAILED: [FINISHING],
            ACCOMPLISHED: [FINISHING],
        }[new]
        expected = self.model.state in allowed
        assert self.experiments.move(self.id, allowed, new) is expected
        self.model.state = new if expected else self.model.state

    def cancel_queued(self) -> None:
        self.ledger.cancel(self.id)
        self.model.cancel()

    def retry(self) -> None:
        self.look.retried()
        assert self.ledger.retry_failed(self.id) == self.model.retry()
        assert self.experiments.move(self.id, [CANCELLED, FAILED], RUNNING)
        self.model.state = RUNNING

    def _job_of(self, claim: Claim) -> ModelJob:
        job = self.model.named(claim.job_id) or self.model.former_post
        assert job is not None
        return job

    def _lane(self, job: ModelJob) -> str:
        base = experiment_key(self.id)
        return f"{base}:post" if job.id == POST_JOB_ID else base

    def _unchanged(self) -> Unchanged:
        return Unchanged(self.client, self.id)
