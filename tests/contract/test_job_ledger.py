"""What every job ledger owes its callers; run against each adapter of the port."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from cautoscaler import Concurrency, Durations
from cautoscaler.measured import NOTHING_MEASURED
from jqueuer.adapters.redis_store import RedisContainerRegistry, RedisExperimentStore, RedisJobLedger
from jqueuer.adapters.redis_store.connection import StoreClient
from jqueuer.adapters.redis_store.experiments import experiment_key
from jqueuer.errors import ConflictError, NotFoundError
from jqueuer.model import POST_JOB_ID, Experiment, FailurePolicy
from jqueuer.ports import Renewal
from jqueuer.records import Claim, ContainerStatus, Counts, ExperimentRecord
from jqueuer.states import AttemptOutcome, ContainerState, ExperimentState, JobState
from tests.contract.copies_world import X, a_job, attempt_of

Wait = Callable[[Callable[[], object], float], None]


class World:
    """An accepted experiment with three jobs, and a way to run them."""

    def __init__(self, client: StoreClient, lease_seconds: float = 30.0, **on_failure: object) -> None:
        self.experiments = RedisExperimentStore(client)
        self.ledger = RedisJobLedger(client, lease_seconds=lease_seconds, max_lost_attempts=3)
        description = Experiment(on_failure=FailurePolicy.model_validate(on_failure))
        record = ExperimentRecord(
            id=X, description=description, state=ExperimentState.RECEIVING, created_at=self.experiments.now()
        )
        self.experiments.create(record)
        self.ledger.add(X, [a_job("a"), a_job("b"), a_job("c")])
        self.experiments.accept(X)

    def claim(self, job_id: str, container: str = "c1") -> Claim:
        claim = self.ledger.claim(X, job_id, container=container, node="n1")
        assert claim is not None
        return claim

    def end(self, claim: Claim, outcome: str, seconds: float = 2.0, **more: object) -> JobState | None:
        return self.ledger.finish(claim, attempt_of(claim, outcome, seconds), **more)  # type: ignore[arg-type]


@pytest.fixture
def world(client: StoreClient) -> World:
    return World(client)


def test_an_outcome_is_recorded_once(world: World) -> None:
    claim = world.claim("a")
    assert world.end(claim, "accomplished") is JobState.ACCOMPLISHED
    assert world.end(claim, "failed") is None
    assert world.ledger.job(X, "a").state is JobState.ACCOMPLISHED
    assert world.ledger.counts(X) == Counts(queued=2, accomplished=1)


def test_a_running_job_cannot_be_claimed_twice(world: World) -> None:
    world.claim("a")
    assert world.ledger.claim(X, "a", container="c2", node="n1") is None


def test_a_finished_or_unknown_job_has_nothing_to_claim(world: World) -> None:
    world.end(world.claim("a"), "accomplished")
    assert world.ledger.claim(X, "a", container="c2", node="n1") is None
    assert world.ledger.claim(X, "nobody", container="c2", node="n1") is None
    assert world.ledger.claim("other-experiment", "a", container="c2", node="n1") is None


def test_a_lease_that_runs_out_requeues_the_job_and_fences_its_late_owner(client: StoreClient) -> None:
    world = World(client, lease_seconds=0.001)
    late = world.claim("a")
    time.sleep(0.01)  # the store's own clock has to pass the lease
    assert world.ledger.reap(X) == ["a"]
    assert world.ledger.due(X) == ["a"]
    assert world.ledger.due(X) == []
    assert world.ledger.renew(late) is Renewal.LOST
    fresh = world.claim("a", "c2")
    assert fresh.token == late.token + 1
    assert world.end(late, "accomplished") is None
    assert world.end(fresh, "accomplished") is JobState.ACCOMPLISHED
    first, second = world.ledger.job(X, "a").attempts
    assert (first.outcome, second.outcome) == (AttemptOutcome.LOST, AttemptOutcome.ACCOMPLISHED)
    assert world.ledger.statistics(X).killed == 1


def test_a_renewed_lease_is_kept(client: StoreClient) -> None:
    world = World(client, lease_seconds=20)
    claim = world.claim("a")
    assert world.ledger.renew(claim) is Renewal.KEPT
    assert world.ledger.reap(X) == []


def test_a_poison_job_fails_after_it_lost_its_container_often_enough(world: World) -> None:
    for _ in range(3):
        world.claim("a", "c9")
        assert world.ledger.release(X, "c9") == ["a"]
    assert world.ledger.job(X, "a").state is JobState.FAILED
    assert world.ledger.counts(X) == Counts(queued=2, failed=1)


def test_the_end_of_everything_is_held_against_no_job(world: World) -> None:
    for _ in range(5):
        world.claim("a")
        assert world.ledger.release(X) == ["a"]
    assert world.ledger.job(X, "a").state is JobState.QUEUED


def test_a_released_container_gives_back_only_its_own_job(world: World) -> None:
    world.claim("a", "c1")
    world.claim("b", "c2")
    assert world.ledger.release(X, "c1") == ["a"]
    assert world.ledger.job(X, "b").state is JobState.RUNNING
    assert world.ledger.release(X) == ["b"]


def test_a_failed_job_is_requeued_until_its_attempts_are_used_up(client: StoreClient) -> None:
    world = World(client, max_attempts=2)
    assert world.end(world.claim("a"), "failed") is JobState.QUEUED
    assert world.ledger.due(X) == ["a"]
    assert world.end(world.claim("a"), "timed-out") is JobState.FAILED
    assert world.ledger.claim(X, "a", container="c1", node="n1") is None


def test_a_failure_that_may_not_be_retried_is_final(world: World) -> None:
    assert world.end(world.claim("a"), "failed", retry=False) is JobState.FAILED


def test_on_failure_cancel_fails_at_once(client: StoreClient) -> None:
    world = World(client, action="cancel")
    assert world.end(world.claim("a"), "failed") is JobState.FAILED


def test_back_off_keeps_a_failed_job_from_running_too_early(client: StoreClient) -> None:
    world = World(client, backoff="1h")
    world.end(world.claim("a"), "failed")
    assert world.ledger.due(X) == []
    assert world.ledger.claim(X, "a", container="c1", node="n1") is None
    assert world.ledger.queued(X, 0, 10) == ["b", "c"]
    not_before = world.ledger.job(X, "a").not_before
    assert not_before is not None
    assert not_before > world.experiments.now() + 3500


def test_jobs_that_had_an_attempt_are_told_from_those_that_wait_for_their_first(world: World) -> None:
    assert world.ledger.requeued(X, ["a", "b", "c"]) == set()
    world.end(world.claim("a"), "failed")
    world.claim("b")
    world.ledger.release(X)
    assert world.ledger.requeued(X, ["c", "b", "a", "nobody"]) == {"a", "b"}
    assert world.ledger.requeued(X, []) == set()


def test_jobs_retried_by_their_user_wait_as_for_the_first_time(client: StoreClient) -> None:
    world = World(client, max_attempts=2)
    for _ in range(2):
        world.end(world.claim("a"), "failed")
    assert world.ledger.retry_failed(X) == 1
    assert world.ledger.requeued(X, ["a"]) == set()
    world.claim("a")
    world.ledger.release(X)
    assert world.ledger.requeued(X, ["a"]) == {"a"}


def test_nothing_is_claimed_while_paused(world: World) -> None:
    running = world.claim("a")
    world.experiments.move(X, [ExperimentState.RUNNING], ExperimentState.PAUSED)
    assert world.ledger.claim(X, "b", container="c1", node="n1") is None
    assert world.ledger.renew(running) is Renewal.KEPT
    world.experiments.move(X, [ExperimentState.PAUSED], ExperimentState.RUNNING)
    world.claim("b")


def test_cancelling_ends_queued_jobs_and_tells_running_ones(world: World) -> None:
    running = world.claim("a")
    world.experiments.move(X, [ExperimentState.RUNNING], ExperimentState.CANCELLED)
    world.ledger.cancel(X)
    assert world.ledger.counts(X) == Counts(running=1, cancelled=2)
    assert world.ledger.renew(running) is Renewal.CANCELLED
    assert world.end(running, "cancelled") is JobState.CANCELLED


def test_retry_gives_failed_and_cancelled_jobs_fresh_attempts(client: StoreClient) -> None:
    world = World(client, max_attempts=1)
    world.end(world.claim("a"), "failed")
    world.end(world.claim("b"), "accomplished")
    assert world.ledger.retry_failed(X) == 1
    assert world.ledger.due(X) == ["a"]
    assert world.end(world.claim("a"), "accomplished") is JobState.ACCOMPLISHED


def test_an_id_can_be_taken_only_once_and_nothing_of_its_batch_is_added(world: World) -> None:
    with pytest.raises(ConflictError, match="'b'"):
        world.ledger.add(X, [a_job("new"), a_job("b")])
    assert world.ledger.counts(X).total == 3


def test_the_post_command_is_run_like_a_job_and_counted_nowhere(world: World) -> None:
    world.ledger.add_post(X, a_job("post"))
    claim = world.claim(POST_JOB_ID)
    world.ledger.add_post(X, a_job("post"))
    assert world.ledger.job(X, POST_JOB_ID).state is JobState.RUNNING
    assert world.end(claim, "accomplished") is JobState.ACCOMPLISHED
    assert world.ledger.counts(X) == Counts(queued=3)
    assert world.ledger.statistics(X).attempts == 0
    assert world.ledger.measured(X) == NOTHING_MEASURED
    assert world.ledger.job(X, POST_JOB_ID).state is JobState.ACCOMPLISHED


def test_a_retried_post_command_runs_again_under_a_higher_token(world: World) -> None:
    world.ledger.add_post(X, a_job("post"))
    first = world.claim(POST_JOB_ID)
    world.end(first, "failed", retry=False)
    world.ledger.retry_failed(X)
    with pytest.raises(NotFoundError):
        world.ledger.job(X, POST_JOB_ID)
    world.ledger.add_post(X, a_job("post"))
    second = world.claim(POST_JOB_ID)
    assert second.token == first.token + 1
    assert world.end(first, "accomplished") is None
    assert [attempt.outcome for attempt in world.ledger.job(X, POST_JOB_ID).attempts] == [AttemptOutcome.FAILED, None]


def test_what_is_asked_twice_because_an_answer_was_lost_is_done_once(world: World) -> None:
    """The client repeats a call whose connection broke; it cannot know whether it was carried out."""
    first = world.claim("a", "c1")
    assert world.claim("a", "c1") == first
    assert world.ledger.statistics(X).attempts == 1
    batch = [3, *(part for job in ("d", "e") for part in (job, a_job(job).model_dump_json(), 1))]
    keys = [experiment_key(X), experiment_key(X)]
    assert [world.ledger._add(keys=keys, args=batch) for _ in range(2)] == [None, None]
    assert world.ledger.counts(X).total == 5
    assert world.ledger.statistics(X).tasks_defined == 5


def test_sums_add_up_over_what_ran(world: World) -> None:
    world.end(world.claim("a"), "accomplished")
    world.end(world.claim("b"), "failed")
    statistics = world.ledger.statistics(X)
    assert (statistics.tasks, statistics.task_seconds, statistics.job_seconds) == (1, 1.5, 2.0)
    assert (statistics.attempts, statistics.tasks_defined, statistics.mean_task_seconds) == (2, 3, 1.5)


def test_durations_of_accomplished_jobs_are_remembered_as_a_histogram(world: World) -> None:
    for job_id, seconds in (("a", 2.0), ("b", 100.0), ("c", 2.0)):
        world.end(world.claim(job_id), "accomplished", seconds)
    measured = world.ledger.measured(X)
    assert measured.durations == Durations.of([2.0, 2.0, 100.0])
    assert (measured.unsuccessful, measured.unsuccessful_seconds, measured.start_seconds) == (0, 0.0, None)


def test_what_is_remembered_of_durations_does_not_grow_with_the_jobs(world: World, client: StoreClient) -> None:
    world.ledger.add(X, [a_job(f"j{number}") for number in range(100)])
    for number in range(100):
        world.end(world.claim(f"j{number}"), "accomplished", 5.0 + number / 1024)
    durations = world.ledger.measured(X).durations
    assert durations.count == 100
    assert durations.seconds == pytest.approx(500.0 + 4950 / 1024)
    assert client.hlen(f"{experiment_key(X)}:measured") <= 2 * (len(durations.buckets) + 1) <= 6


def test_they_are_remembered_by_the_jobs_that_ran_between_start_and_end_of_each(world: World) -> None:
    first, second, third = world.claim("a", "c1"), world.claim("b", "c2"), world.claim("c", "c3")
    world.end(first, "accomplished", 4.0)
    world.end(second, "accomplished", 3.0)
    world.ledger.add(X, [a_job("d")])
    fourth = world.claim("d", "c1")
    world.end(third, "accomplished", 3.5)
    world.end(fourth, "accomplished", 1.0)
    assert world.ledger.measured(X).concurrency == (
        Concurrency(2, 3, 8.0), Concurrency(3, 1, 3.5),
    )  # fmt: skip


def test_attempts_that_did_not_accomplish_their_job_are_remembered_apart(client: StoreClient) -> None:
    world = World(client, lease_seconds=0.001)
    world.end(world.claim("a"), "failed", 8.0)
    world.end(world.claim("a"), "timed-out", 16.0)
    assert world.ledger.measured(X).unsuccessful_seconds == 24.0
    world.end(world.claim("b"), "killed")
    world.claim("b", "c7")
    world.ledger.release(X, "c7")
    world.claim("c")
    time.sleep(0.01)  # the store's own clock has to pass the lease
    assert world.ledger.reap(X) == ["c"]
    measured = world.ledger.measured(X)
    assert (measured.durations.count, measured.concurrency, measured.unsuccessful) == (0, (), 5)
    assert measured.unsuccessful_seconds > 24.005, "until it was known that they were lost"


def test_a_cancelled_attempt_tells_nothing_of_durations(world: World) -> None:
    running = world.claim("a")
    world.experiments.move(X, [ExperimentState.RUNNING], ExperimentState.CANCELLED)
    world.end(running, "cancelled")
    assert world.ledger.measured(X) == NOTHING_MEASURED


def test_an_outcome_that_comes_too_late_is_not_measured(world: World) -> None:
    late = world.claim("a")
    world.ledger.release(X)
    assert world.end(late, "accomplished") is None
    assert world.ledger.measured(X).durations.count == 0


def test_a_container_is_busy_since_its_job_was_claimed(world: World, client: StoreClient) -> None:
    registry = RedisContainerRegistry(client)
    registry.observe(X, ContainerStatus(id="c1", node="n1", state=ContainerState.IDLE, started_at=1.0))
    claim = world.claim("a", "c1")
    (busy,) = registry.observed(X)
    assert (busy.state, busy.job, busy.busy_since) == (ContainerState.BUSY, "a", claim.started_at)
    world.end(claim, "accomplished")
    (idle,) = registry.observed(X)
    assert (idle.state, idle.job, idle.busy_since) == (ContainerState.IDLE, None, None)
    assert idle.claimed_at == claim.started_at, "so that one whose jobs are over at once is not thought to hang"
    world.claim("b", "c1")
    world.ledger.release(X, "c1")
    (idle,) = registry.observed(X)
    assert (idle.state, idle.job, idle.busy_since) == (ContainerState.IDLE, None, None)


def test_jobs_are_paged_in_order_filtered_and_searched(world: World) -> None:
    world.ledger.add(X, [a_job(f"beta-{number}") for number in range(5)])
    page = world.ledger.page(X, offset=2, limit=3)
    assert ([job.spec.id for job in page.jobs], page.total) == (["c", "beta-0", "beta-1"], 8)
    world.end(world.claim("beta-3"), "accomplished")
    done = world.ledger.page(X, state=JobState.ACCOMPLISHED)
    assert ([job.spec.id for job in done.jobs], done.total) == (["beta-3"], 1)
    found = world.ledger.page(X, search="eta-", offset=1, limit=2)
    assert ([job.spec.id for job in found.jobs], found.total) == (["beta-1", "beta-2"], 5)


def test_a_job_nobody_added_is_not_found(world: World) -> None:
    with pytest.raises(NotFoundError, match="nobody"):
        world.ledger.job(X, "nobody")
