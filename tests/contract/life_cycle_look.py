"""The real store held against the model after every step: through the ports, and behind them."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from jqueuer.adapters.redis_store import RedisJobLedger
from jqueuer.adapters.redis_store.connection import StoreClient
from jqueuer.adapters.redis_store.experiments import experiment_key
from jqueuer.errors import NotFoundError
from jqueuer.model import POST_JOB_ID
from jqueuer.records import Attempt, JobRecord
from jqueuer.states import AttemptOutcome, JobState
from tests.contract.life_cycle import ModelExperiment, ModelJob

_MANY = 100


def of_store(client: StoreClient, experiment_id: str) -> dict[str, Any]:
    """Everything that is stored of an experiment, to see whether anything changed."""
    found: dict[str, Any] = {}
    for key in sorted(client.keys(f"{experiment_key(experiment_id)}*")):
        kind = client.type(key)
        read = {"hash": client.hgetall, "set": client.smembers, "list": lambda name: client.lrange(name, 0, -1)}
        found[key] = read[kind](key) if kind in read else client.zrange(key, 0, -1, withscores=True)
    return found


@dataclass
class Look:
    """One experiment, looked at again and again."""

    client: StoreClient
    ledger: RedisJobLedger
    experiment_id: str
    _ended: dict[tuple[str, int], Attempt] = field(default_factory=dict)
    _terminal: dict[str, JobState] = field(default_factory=dict)

    def compare(self, model: ModelExperiment) -> None:
        """Every invariant, against what should be there."""
        base = experiment_key(self.experiment_id)
        self._compare_records(model)
        self._compare_counts(model)
        self._compare_lane(base, list(model.jobs.values()))
        self._compare_lane(f"{base}:post", [model.post] if model.post else [])
        busy = {container: job.id for job in model.everything() for container in job.holders.values()}
        assert self.client.hgetall(f"{base}:busy") == busy
        assert set(self.client.hkeys(f"{base}:busy_since")) >= set(busy)

    def retried(self) -> None:
        """From now on failed and cancelled jobs, and the post command, may have another state."""
        kept = JobState.ACCOMPLISHED
        self._terminal = {name: state for name, state in self._terminal.items() if state is kept and name[0] != "@"}

    def _compare_records(self, model: ModelExperiment) -> None:
        page = self.ledger.page(self.experiment_id, limit=_MANY)
        assert page.total == len(page.jobs) == len(model.jobs)
        records = {record.spec.id: record for record in page.jobs}
        assert list(records) == list(model.jobs), "in the order in which they were added"
        try:
            post = self.ledger.job(self.experiment_id, POST_JOB_ID)
        except NotFoundError:
            assert model.post is None
        else:
            records[POST_JOB_ID] = post
        for job in model.everything():
            self._compare_record(records[job.id], job)

    def _compare_record(self, record: JobRecord, job: ModelJob) -> None:
        assert record.state is job.state
        assert {attempt.number: attempt.outcome for attempt in record.attempts} == job.outcomes
        for attempt in record.attempts:  # I2
            if attempt.outcome is not None:
                assert self._ended.setdefault((job.id, attempt.number), attempt) == attempt, "recorded once"
        accomplished = [one for one in record.attempts if one.outcome is AttemptOutcome.ACCOMPLISHED]
        if job.id != POST_JOB_ID:
            assert len(accomplished) == (record.state is JobState.ACCOMPLISHED)
        before = self._terminal.get(job.id, record.state)  # I1
        assert record.state is before, "a terminal state is left only when the user retries"
        if record.state.terminal:
            self._terminal[job.id] = record.state
        assert len(record.attempts) <= job.causes  # I3

    def _compare_counts(self, model: ModelExperiment) -> None:  # I5
        jobs = list(model.jobs.values())
        counts, statistics = self.ledger.counts(self.experiment_id), self.ledger.statistics(self.experiment_id)
        assert counts.model_dump() == {state.value: sum(job.state is state for job in jobs) for state in JobState}
        assert counts.total == len(jobs)
        assert statistics.attempts == sum(job.token for job in jobs)
        outcomes = Counter(outcome for job in jobs for outcome in job.outcomes.values())
        assert statistics.killed == outcomes[AttemptOutcome.LOST] + outcomes[AttemptOutcome.KILLED]
        ready = [job.id for job in model.everything() if job.state is JobState.QUEUED and not job.waits]
        assert self.ledger.queued(self.experiment_id, 0, _MANY) == ready
        assert self.ledger.standing(self.experiment_id).delayed == sum(job.waits for job in jobs)
        requeued = {job.id for job in model.everything() if job.requeued}
        assert self.ledger.requeued(self.experiment_id, [job.id for job in model.everything()]) == requeued

    def _compare_lane(self, lane: str, jobs: list[ModelJob]) -> None:
        """What is derived from the jobs' states is what follows from them."""
        with self.client.pipeline() as batch:
            for name in (*(state.value for state in JobState), "due", "leases"):
                batch.zrange(f"{lane}:{name}", 0, -1)
            for job in jobs:
                batch.hget(f"{lane}:job:{job.id}", "copies")
            found = batch.execute()
        for state, members in zip(JobState, found, strict=False):
            assert members == [job.id for job in jobs if job.state is state], state
        due, leases, *copies = found[len(JobState) :]
        assert set(due) == {job.id for job in jobs if job.waits}
        held = Counter(lease.partition(" ")[0] for lease in leases)
        assert held == Counter({job.id: len(job.holders) for job in jobs if job.holders})
        for job, written in zip(jobs, copies, strict=True):
            assert bool(job.holders) == (job.state is JobState.RUNNING)
            assert written is None or json.loads(written) == {str(key): name for key, name in job.holders.items()}
            assert written is not None or len(job.holders) < 2


class Unchanged:
    """Fails where something of the experiment was changed inside."""

    def __init__(self, client: StoreClient, experiment_id: str) -> None:
        self._client, self._experiment_id = client, experiment_id

    def __enter__(self) -> None:
        self._before = of_store(self._client, self._experiment_id)

    def __exit__(self, kind: type[BaseException] | None, error: object, trace: object) -> None:
        if kind is None:
            assert of_store(self._client, self._experiment_id) == self._before
