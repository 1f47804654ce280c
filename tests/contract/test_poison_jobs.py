"""Jobs that end what runs them: they stop after their limit, and the others are not made to pay for it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from jqueuer.adapters.redis_store import RedisExperimentStore, RedisJobLedger
from jqueuer.adapters.redis_store.connection import StoreClient
from jqueuer.adapters.redis_store.experiments import experiment_key
from jqueuer.model import Experiment, Job, Task
from jqueuer.records import Attempt, Claim, Counts, ExperimentRecord
from jqueuer.states import AttemptOutcome, ExperimentState, JobState

Wait = Callable[[Callable[[], object], float], None]
X = "sweep-abc123"
MOST = 3
"""A job that loses its container so often fails."""


@pytest.fixture
def ledger(client: StoreClient) -> RedisJobLedger:
    """Of a running experiment with the jobs a, b and c."""
    experiments, ledger = RedisExperimentStore(client), RedisJobLedger(client, max_lost_attempts=MOST)
    experiments.create(
        ExperimentRecord(id=X, description=Experiment(), state=ExperimentState.RECEIVING, created_at=experiments.now())
    )
    ledger.add(X, [Job(id=name, tasks=(Task(command=("true",)),)) for name in "abc"])
    experiments.accept(X)
    return ledger


def claimed(ledger: RedisJobLedger, job_id: str) -> Claim:
    claim = ledger.claim(X, job_id, container=f"c-{job_id}", node="n1")
    assert claim is not None
    return claim


def accomplished(ledger: RedisJobLedger, claim: Claim) -> JobState | None:
    return ledger.finish(
        claim,
        Attempt(
            number=claim.token, container=claim.container, node="n1", started_at=claim.started_at,
            outcome=AttemptOutcome.ACCOMPLISHED,
        ),
    )  # fmt: skip


def everything_ends(ledger: RedisJobLedger, times: int, *job_ids: str) -> None:
    """So often, while these jobs run."""
    for _ in range(times):
        for job_id in job_ids:
            claimed(ledger, job_id)
        ledger.release(X)


def test_its_last_attempt_says_what_happened_and_how_often(ledger: RedisJobLedger) -> None:
    for _ in range(MOST):
        claimed(ledger, "a")
        ledger.release(X, "c-a")
    job = ledger.job(X, "a")
    assert job.state is JobState.FAILED
    assert [attempt.reason for attempt in job.attempts] == ["its container is gone"] * (MOST - 1) + [
        "its container is gone; that was the case 3 times, so it is not run again"
    ]
    assert ledger.counts(X) == Counts(queued=2, failed=1)


def test_one_that_is_there_whenever_everything_ends_fails_at_last(ledger: RedisJobLedger) -> None:
    everything_ends(ledger, 4 * MOST - 1, "a")
    assert ledger.job(X, "a").state is JobState.QUEUED
    everything_ends(ledger, 1, "a")
    job = ledger.job(X, "a")
    assert job.state is JobState.FAILED
    assert job.attempts[-1].reason == (
        "its container is gone, with all that ran beside it; that was the case 12 times, so it is not run again"
    )


def test_what_goes_together_is_counted_apart_from_what_goes_alone(ledger: RedisJobLedger) -> None:
    for _ in range(MOST):
        claimed(ledger, "a")
        claimed(ledger, "b")
        ledger.release(X, "c-a", together=True)
        ledger.release(X, "c-b", together=True)
    assert ledger.counts(X) == Counts(queued=3)


def run_out(ledger: RedisJobLedger, client: StoreClient, *job_ids: str) -> None:
    """Their leases, one after the other."""
    for job_id in job_ids:
        client.zadd(f"{experiment_key(X)}:leases", {job_id: 0})
        assert ledger.reap(X) == [job_id]


def test_jobs_of_a_node_that_was_lost_are_not_held_to_blame_for_it(ledger: RedisJobLedger, client: StoreClient) -> None:
    for _ in range(MOST):
        for job_id in "abc":
            claimed(ledger, job_id)
        now_ms = float(client.hget("jq:clock", "steady"))
        # None was renewed for most of a lease; the looks at them find one after the other.
        client.zadd(f"{experiment_key(X)}:leases", dict.fromkeys("abc", now_ms + 1000.0))
        run_out(ledger, client, "a", "b", "c")
    assert ledger.counts(X) == Counts(queued=3)
    assert ledger.job(X, "c").attempts[-1].reason == (
        "its lease ran out, with those beside it: nothing on its node was heard of any more"
    )


def test_a_lease_that_runs_out_while_those_beside_it_are_renewed_counts_alone(
    ledger: RedisJobLedger, client: StoreClient
) -> None:
    claimed(ledger, "b")
    for _ in range(MOST - 1):
        claimed(ledger, "a")
        run_out(ledger, client, "a")
    claimed(ledger, "a")
    client.zadd(f"{experiment_key(X)}:leases", {"a": 0})
    assert ledger.reap(X) == ["a"]
    assert ledger.counts(X) == Counts(queued=1, running=1, failed=1)


def test_suspects_run_one_at_a_time(ledger: RedisJobLedger) -> None:
    """So that the one which ends everything does it without the others at last, and they are accomplished meanwhile."""
    everything_ends(ledger, MOST, "a", "b")
    first = claimed(ledger, "a")
    assert ledger.claim(X, "b", container="c-b", node="n1") is None
    assert ledger.standing(X).delayed >= 1
    claimed(ledger, "c")
    assert accomplished(ledger, first) is JobState.ACCOMPLISHED


def test_a_suspect_that_was_put_off_has_its_turn(ledger: RedisJobLedger, client: StoreClient) -> None:
    everything_ends(ledger, MOST, "a", "b")
    ledger.due(X)
    first = claimed(ledger, "a")
    assert ledger.claim(X, "b", container="c-b", node="n1") is None
    assert ledger.queued(X, 0, 10) == ["c"]
    accomplished(ledger, first)
    client.zadd(f"{experiment_key(X)}:due", {"b": 0})  # its pause is over
    client.hset(f"{experiment_key(X)}:job:b", "not_before", 0)
    assert ledger.due(X) == ["b"]
    claimed(ledger, "b")


def test_a_user_who_retries_it_clears_it_of_suspicion(ledger: RedisJobLedger) -> None:
    everything_ends(ledger, 4 * MOST, "a")
    assert ledger.retry_failed(X) == 1
    everything_ends(ledger, MOST, "a")
    assert ledger.job(X, "a").state is JobState.QUEUED


def test_a_container_tells_which_job_it_holds(ledger: RedisJobLedger) -> None:
    claim = claimed(ledger, "a")
    assert (ledger.job_of(X, "c-a"), ledger.job_of(X, "c-b")) == ("a", None)
    accomplished(ledger, claim)
    assert ledger.job_of(X, "c-a") is None


def test_a_running_job_without_a_lease_is_found_and_runs_again(ledger: RedisJobLedger, client: StoreClient) -> None:
    """No script leaves one behind; whoever mends a store by hand may."""
    claimed(ledger, "a")
    client.delete(f"{experiment_key(X)}:leases")
    assert ledger.reap(X) == []
    assert ledger.reap(X) == ["a"]
    assert ledger.counts(X) == Counts(queued=3)
