"""A store in use that is backed up, lost, and restored; for the tests of backups."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from jqueuer.adapters.redis_store import RedisExperimentStore, RedisJobLedger
from jqueuer.adapters.redis_store.connection import StoreClient
from jqueuer.adapters.redis_store.versions import upgrade
from jqueuer.backup import Archive, back_up, restore
from jqueuer.model import Experiment, Job, Task
from jqueuer.records import Attempt, Claim, ExperimentRecord
from jqueuer.states import AttemptOutcome, ExperimentState, JobState


class World:
    """A store in use."""

    def __init__(self, client: StoreClient, directory: Path) -> None:
        self.client, self.directory = client, directory
        self.experiments, self.ledger = RedisExperimentStore(client), RedisJobLedger(client)
        self.archive = directory / "backup.tar.gz"
        self.artifacts = directory / "artifacts"
        upgrade(client)

    def begin(self, experiment_id: str, jobs: int, **description: Any) -> None:
        record = ExperimentRecord(
            id=experiment_id,
            description=Experiment(name="sweep", **description),
            state=ExperimentState.RECEIVING,
            created_at=self.experiments.now(),
            owner="ada",
        )
        self.experiments.create(record)
        self.ledger.add(experiment_id, [job(f"j{number}") for number in range(jobs)])
        self.experiments.accept(experiment_id)
        self.experiments.set_published(experiment_id, jobs)

    def claim(self, experiment_id: str, job_id: str, container: str = "c1") -> Claim:
        claim = self.ledger.claim(experiment_id, job_id, container=container, node="n")
        assert claim is not None
        return claim

    def finish(self, claim: Claim, outcome: str = "accomplished") -> JobState | None:
        attempt = Attempt(
            number=claim.token,
            container=claim.container,
            node=claim.node,
            started_at=claim.started_at,
            finished_at=claim.started_at + 1.5,
            outcome=AttemptOutcome(outcome),
        )
        return self.ledger.finish(claim, attempt)

    def run(self, experiment_id: str, job_id: str, *outcomes: str) -> None:
        for outcome in outcomes:
            self.finish(self.claim(experiment_id, job_id), outcome)

    def end(self, experiment_id: str, state: ExperimentState) -> None:
        assert self.experiments.move(experiment_id, [ExperimentState.RUNNING], state, reason="it ended")
        self.experiments.settle(experiment_id)

    def state(self, experiment_id: str, job_id: str) -> JobState:
        return self.ledger.job(experiment_id, job_id).state

    def back_up(self) -> None:
        with self.archive.open("wb") as file:
            back_up(self.client, self.artifacts, file)

    def lose_everything(self) -> None:
        self.client.flushall()
        self.artifacts = self.directory / "restored"

    def restore(self) -> None:
        restore(Archive(self.archive), self.client, self.artifacts)

    def back_up_and_restore(self) -> None:
        self.back_up()
        self.lose_everything()
        self.restore()

    def due(self, experiment_id: str) -> list[str]:
        return self.ledger.due(experiment_id)


def job(job_id: str, **fields: Any) -> Job:
    return Job(id=job_id, tasks=(Task(command=("/bin/true",)),), **fields)
