"""An experiment whose jobs may run twice at the same time, for whoever tests what becomes of the copies."""

from __future__ import annotations

import pytest

from jqueuer.adapters.redis_store import RedisContainerRegistry, RedisExperimentStore, RedisJobLedger
from jqueuer.adapters.redis_store.connection import StoreClient
from jqueuer.model import Experiment, Job, Task
from jqueuer.records import Attempt, Claim, CommandResult, ContainerStatus, ExperimentRecord
from jqueuer.states import AttemptOutcome, ContainerState, ExperimentState, JobState

X = "sweep-abc123"
LIMIT = 3
"""Of failures, and of containers lost, for a job."""
RUNNING, PAUSED, CANCELLED = ExperimentState.RUNNING, ExperimentState.PAUSED, ExperimentState.CANCELLED


def a_job(job_id: str, idempotent: bool | None = None) -> Job:
    return Job(id=job_id, tasks=(Task(command=("/bin/true",)),), idempotent=idempotent)


def attempt_of(claim: Claim, outcome: str, seconds: float = 2.0) -> Attempt:
    """What an agent reports of a claimed job that took so long."""
    return Attempt(
        number=claim.token,
        container=claim.container,
        node=claim.node,
        started_at=claim.started_at,
        finished_at=claim.started_at + seconds,
        outcome=AttemptOutcome(outcome),
        commands=(CommandResult(role="task 1", exit_code=0 if outcome == "accomplished" else 1, seconds=1.5),),
    )


class World:
    """An accepted experiment of two jobs that may run twice, and one that may not."""

    def __init__(self, client: StoreClient, *, experiment: str = X, lease_seconds: float = 30.0) -> None:
        self.id = experiment
        self.experiments = RedisExperimentStore(client)
        self.registry = RedisContainerRegistry(client)
        self.ledger = RedisJobLedger(client, lease_seconds=lease_seconds, max_lost_attempts=LIMIT)
        description = Experiment.model_validate(
            {"idempotent": True, "hedge": True, "on_failure": {"action": "requeue", "max_attempts": LIMIT}}
        )
        record = ExperimentRecord(
            id=self.id, description=description, state=ExperimentState.RECEIVING, created_at=self.experiments.now()
        )
        self.experiments.create(record)
        self.ledger.add(self.id, [a_job("a"), a_job("b"), a_job("once", idempotent=False)])
        self.experiments.accept(self.id)

    def claim(self, job_id: str, container: str = "c1") -> Claim:
        claim = self.ledger.claim(self.id, job_id, container=container, node="n1")
        assert claim is not None
        return claim

    def two_copies(self, job_id: str = "a") -> tuple[Claim, Claim]:
        first = self.claim(job_id, "c1")
        assert self.ledger.hedge(self.id, job_id)
        return first, self.claim(job_id, "c2")

    def end(self, claim: Claim, outcome: str, seconds: float = 2.0, *, retry: bool = True) -> JobState | None:
        return self.ledger.finish(claim, attempt_of(claim, outcome, seconds), retry=retry)

    def outcomes(self, job_id: str = "a") -> list[str | None]:
        return [attempt.outcome and attempt.outcome.value for attempt in self.ledger.job(self.id, job_id).attempts]

    def state(self, job_id: str = "a") -> JobState:
        return self.ledger.job(self.id, job_id).state

    def busy(self, *containers: str) -> list[str | None]:
        for name in containers:
            status = ContainerStatus(id=name, node="n1", state=ContainerState.IDLE, started_at=1.0)
            self.registry.observe(self.id, status)
        return [status.job for status in self.registry.observed(self.id)]


@pytest.fixture
def world(client: StoreClient) -> World:
    return World(client)
