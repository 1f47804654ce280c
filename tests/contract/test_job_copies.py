"""What becomes of a job while two copies of it run: who decides, and what the loss of one means."""

from __future__ import annotations

import time

import pytest

from cautoscaler import Concurrency, Durations
from cautoscaler.measured import NOTHING_MEASURED
from jqueuer.adapters.redis_store import RedisJobLedger
from jqueuer.adapters.redis_store.connection import StoreClient
from jqueuer.ports import Renewal
from jqueuer.records import Counts
from jqueuer.states import AttemptOutcome, JobState
from tests.contract.copies_world import CANCELLED, RUNNING, World, X
from tests.contract.copies_world import world as world

OVERTAKEN = "another copy was faster"


def test_a_hedged_job_is_given_to_one_more_container_under_a_token_of_its_own(world: World) -> None:
    first, copy = world.two_copies()
    assert (first.token, copy.token, copy.spec) == (1, 2, first.spec)
    assert world.ledger.claim(X, "a", container="c3", node="n1") is None
    assert [world.ledger.renew(claim) for claim in (first, copy)] == [Renewal.KEPT, Renewal.KEPT]
    assert world.ledger.counts(X) == Counts(queued=2, running=1), "the job counts once"
    assert world.ledger.statistics(X).attempts == 2
    assert world.busy("c1", "c2", "c3") == ["a", "a", None]


@pytest.mark.parametrize("winner", [0, 1])
def test_the_first_copy_that_accomplishes_the_job_decides(world: World, winner: int) -> None:
    copies = world.two_copies()
    faster, slower = copies[winner], copies[1 - winner]
    assert world.end(faster, "accomplished") is JobState.ACCOMPLISHED
    assert world.ledger.renew(slower) is Renewal.LOST
    assert world.end(slower, "accomplished", 9.0) is None
    job = world.ledger.job(X, "a")
    assert job.deciding == job.attempts[winner]
    other = job.attempts[1 - winner]
    assert (other.outcome, other.reason, other.container) == (AttemptOutcome.CANCELLED, OVERTAKEN, slower.container)
    assert other.finished_at is not None
    assert world.ledger.counts(X) == Counts(queued=2, accomplished=1)
    assert world.busy("c1", "c2") == [None, None]
    assert world.ledger.reap(X) == world.ledger.release(X) == world.ledger.due(X) == []


def test_only_the_winner_is_measured(world: World) -> None:
    first, copy = world.two_copies()
    world.end(copy, "accomplished", 2.0)
    world.end(first, "accomplished", 9.0)
    statistics, measured = world.ledger.statistics(X), world.ledger.measured(X)
    assert (statistics.tasks, statistics.task_seconds, statistics.job_seconds) == (1, 1.5, 2.0)
    assert (measured.durations, measured.unsuccessful) == (Durations.of([2.0]), 0)
    assert measured.concurrency == (Concurrency(2, 1, 2.0),), "two containers were at work"


@pytest.mark.parametrize("loser", [0, 1])
def test_a_failed_copy_leaves_the_job_to_the_other(world: World, loser: int) -> None:
    copies = world.two_copies()
    assert world.end(copies[loser], "failed") is JobState.RUNNING
    assert world.ledger.renew(copies[loser]) is Renewal.LOST
    assert world.ledger.renew(copies[1 - loser]) is Renewal.KEPT
    assert world.busy("c1", "c2") == (["a", None] if loser else [None, "a"])
    assert world.end(copies[1 - loser], "accomplished") is JobState.ACCOMPLISHED
    assert sorted(filter(None, world.outcomes())) == ["accomplished", "failed"]


def test_failures_of_both_copies_requeue_the_job_once_and_count_both(world: World) -> None:
    first, copy = world.two_copies()
    assert world.end(first, "failed") is JobState.RUNNING
    assert world.end(copy, "timed-out") is JobState.QUEUED
    assert world.ledger.due(X) == ["a"]
    assert world.end(world.claim("a"), "failed") is JobState.FAILED, "three failures are the limit"
    assert world.ledger.counts(X) == Counts(queued=2, failed=1)


@pytest.mark.parametrize("how", ["accomplished", "failed", "killed", "released"])
def test_a_failure_that_is_final_leaves_the_other_copy_as_the_last_chance(world: World, how: str) -> None:
    first, copy = world.two_copies()
    assert world.end(first, "failed", retry=False) is JobState.RUNNING
    if how == "released":
        assert world.ledger.release(X) == ["a"]
    else:
        world.end(copy, how)
    assert world.state() is (JobState.ACCOMPLISHED if how == "accomplished" else JobState.FAILED)
    assert world.ledger.due(X) == []


@pytest.mark.parametrize("victim", ["c1", "c2"])
def test_the_loss_of_one_container_leaves_the_job_to_the_other(world: World, victim: str) -> None:
    copies = {claim.container: claim for claim in world.two_copies()}
    assert world.ledger.release(X, victim) == []
    assert world.ledger.renew(copies.pop(victim)) is Renewal.LOST
    (left,) = copies.values()
    assert world.state() is JobState.RUNNING
    assert world.ledger.due(X) == []
    assert world.end(left, "accomplished") is JobState.ACCOMPLISHED
    assert world.ledger.statistics(X).killed == 1
    assert world.ledger.counts(X) == Counts(queued=2, accomplished=1)


def test_the_loss_of_both_requeues_the_job_once_and_fences_both(world: World) -> None:
    first, copy = world.two_copies()
    assert world.ledger.release(X, "c2") == []
    assert world.ledger.release(X, "c1") == ["a"]
    assert (world.ledger.due(X), world.ledger.due(X)) == (["a"], [])
    again = world.claim("a", "c3")
    assert again.token == 3
    assert [world.end(claim, "accomplished") for claim in (first, copy)] == [None, None]
    assert world.end(again, "accomplished") is JobState.ACCOMPLISHED
    assert world.outcomes() == ["lost", "lost", "accomplished"]


def test_the_end_of_everything_requeues_a_job_with_two_copies_once(world: World) -> None:
    world.two_copies()
    assert world.ledger.release(X) == ["a"]
    assert world.ledger.due(X) == ["a"]
    assert world.busy("c1", "c2") == [None, None]


def test_each_copy_has_a_lease_of_its_own(client: StoreClient) -> None:
    """The one that is heard of goes on while the other is not."""
    silent = World(client, lease_seconds=0.001)
    first, copy = silent.two_copies()
    lively = RedisJobLedger(client, lease_seconds=60)
    assert lively.renew(copy) is Renewal.KEPT
    time.sleep(0.01)  # the store's own clock has to pass the first one's lease
    assert lively.reap(X) == []
    assert silent.outcomes() == ["lost", None]
    assert (lively.renew(first), lively.renew(copy)) == (Renewal.LOST, Renewal.KEPT)
    assert silent.end(copy, "accomplished") is JobState.ACCOMPLISHED


def test_leases_of_both_that_run_out_requeue_the_job_once(client: StoreClient) -> None:
    world = World(client, lease_seconds=0.001)
    world.two_copies()
    time.sleep(0.01)  # the store's own clock has to pass the leases
    assert world.ledger.reap(X) == ["a"]
    assert world.outcomes() == ["lost", "lost"]
    assert world.ledger.due(X) == ["a"]


def test_a_job_that_kills_every_container_fails_although_it_is_hedged(world: World) -> None:
    world.two_copies()
    world.ledger.release(X, "c1")
    world.ledger.release(X, "c2")
    world.claim("a", "c3")
    assert world.ledger.release(X, "c3") == ["a"]
    assert world.state() is JobState.FAILED, "three containers are the limit"


def test_a_cancellation_ends_both_and_the_job_runs_until_both_have_ended(world: World) -> None:
    first, copy = world.two_copies()
    world.experiments.move(X, [RUNNING], CANCELLED)
    world.ledger.cancel(X)
    assert [world.ledger.renew(claim) for claim in (first, copy)] == [Renewal.CANCELLED, Renewal.CANCELLED]
    assert world.end(first, "cancelled") is JobState.RUNNING
    assert world.end(copy, "cancelled") is JobState.CANCELLED
    assert world.ledger.counts(X) == Counts(cancelled=3)
    assert world.ledger.measured(X) == NOTHING_MEASURED


def test_a_copy_that_is_lost_after_a_cancellation_is_not_queued(world: World) -> None:
    first, _ = world.two_copies()
    world.experiments.move(X, [RUNNING], CANCELLED)
    world.ledger.cancel(X)
    assert world.ledger.release(X, "c2") == []
    assert world.end(first, "failed") is JobState.CANCELLED
