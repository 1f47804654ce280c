"""What a ledger owes its callers while two copies of a job run; run against each adapter of the port."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass, field

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cautoscaler import Concurrency, Durations
from cautoscaler.measured import NOTHING_MEASURED
from jqueuer.adapters.redis_store import RedisContainerRegistry, RedisExperimentStore, RedisJobLedger
from jqueuer.adapters.redis_store.connection import StoreClient
from jqueuer.adapters.redis_store.experiments import experiment_key
from jqueuer.model import POST_JOB_ID, Experiment, Job, Task
from jqueuer.ports import Renewal
from jqueuer.records import Attempt, Claim, CommandResult, ContainerStatus, Counts, ExperimentRecord
from jqueuer.states import AttemptOutcome, ContainerState, ExperimentState, JobState

X = "sweep-abc123"
OVERTAKEN = "another copy was faster"
LIMIT = 3
"""Of failures, and of containers lost, for a job."""
RUNNING, PAUSED, CANCELLED = ExperimentState.RUNNING, ExperimentState.PAUSED, ExperimentState.CANCELLED


def a_job(job_id: str, idempotent: bool | None = None) -> Job:
    return Job(id=job_id, tasks=(Task(command=("/bin/true",)),), idempotent=idempotent)


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
        attempt = Attempt(
            number=claim.token,
            container=claim.container,
            node=claim.node,
            started_at=claim.started_at,
            finished_at=claim.started_at + seconds,
            outcome=AttemptOutcome(outcome),
            commands=(CommandResult(role="task 1", exit_code=0 if outcome == "accomplished" else 1, seconds=1.5),),
        )
        return self.ledger.finish(claim, attempt, retry=retry)

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


def test_only_jobs_that_may_run_twice_are_hedged(world: World) -> None:
    world.claim("a", "c1")
    world.claim("once", "c2")
    world.ledger.add_post(X, a_job("post", idempotent=True))
    world.claim(POST_JOB_ID, "c3")
    assert world.ledger.hedgeable(X, ["a", "b", "once", POST_JOB_ID, "nobody"]) == {"a"}
    assert [world.ledger.hedge(X, job) for job in ("b", "once", POST_JOB_ID, "nobody")] == [False] * 4
    for job in ("once", POST_JOB_ID):
        assert world.ledger.claim(X, job, container="c4", node="n1") is None


def test_there_is_one_copy_of_a_job_whatever_becomes_of_it(world: World) -> None:
    world.two_copies()
    assert not world.ledger.hedge(X, "a")
    world.ledger.release(X, "c2")
    assert not world.ledger.hedge(X, "a")
    world.ledger.release(X, "c1")
    world.claim("a", "c3")
    assert world.ledger.hedgeable(X, ["a"]) == set()
    assert not world.ledger.hedge(X, "a")
    assert world.ledger.claim(X, "a", container="c4", node="n1") is None


def test_a_job_that_its_user_retries_may_be_hedged_again(world: World) -> None:
    for claim in world.two_copies():
        world.end(claim, "failed")
    world.end(world.claim("a"), "failed")
    assert world.state() is JobState.FAILED
    world.ledger.retry_failed(X)
    first, copy = world.two_copies()
    assert (first.token, copy.token) == (4, 5)


def test_whoever_opens_a_job_twice_opens_it_for_one_copy(world: World) -> None:
    world.claim("a", "c1")
    assert world.ledger.hedge(X, "a")
    assert world.ledger.hedge(X, "a"), "its message may have been lost"
    world.claim("a", "c2")
    assert world.ledger.claim(X, "a", container="c3", node="n1") is None


def test_a_job_that_is_queued_again_before_its_copy_began_is_claimed_as_usual(world: World) -> None:
    """Then there are two messages for it: the second finds nothing to claim."""
    world.claim("a", "c1")
    world.ledger.hedge(X, "a")
    assert world.ledger.release(X, "c1") == ["a"]
    world.claim("a", "c2")
    assert world.ledger.claim(X, "a", container="c3", node="n1") is None
    assert world.ledger.hedge(X, "a"), "it had no copy yet"


def test_a_copy_of_a_job_that_has_ended_meanwhile_is_not_begun(world: World) -> None:
    first = world.claim("a", "c1")
    world.ledger.hedge(X, "a")
    world.end(first, "accomplished")
    assert world.ledger.claim(X, "a", container="c2", node="n1") is None
    assert world.ledger.statistics(X).attempts == 1


def test_a_container_is_not_given_a_copy_of_its_own_job(world: World) -> None:
    first = world.claim("a", "c1")
    world.ledger.hedge(X, "a")
    assert world.claim("a", "c1") == first, "its answer was lost"
    copy = world.claim("a", "c2")
    assert (world.claim("a", "c1"), world.claim("a", "c2")) == (first, copy)
    assert world.ledger.statistics(X).attempts == 2


def test_no_copy_is_begun_while_paused(world: World) -> None:
    first = world.claim("a", "c1")
    world.ledger.hedge(X, "a")
    world.experiments.move(X, [RUNNING], PAUSED)
    assert world.ledger.claim(X, "a", container="c2", node="n1") is None
    assert not world.ledger.hedge(X, "a")
    assert world.ledger.renew(first) is Renewal.KEPT
    world.experiments.move(X, [PAUSED], RUNNING)
    assert world.ledger.hedge(X, "a")
    assert world.claim("a", "c2").token == 2


def test_copies_that_run_are_finished_while_paused(world: World) -> None:
    first, copy = world.two_copies()
    world.experiments.move(X, [RUNNING], PAUSED)
    assert world.end(first, "accomplished") is JobState.ACCOMPLISHED
    assert world.end(copy, "accomplished") is None


def test_of_a_deleted_experiment_nothing_is_hedged(world: World) -> None:
    world.claim("a", "c1")
    world.experiments.delete(X)
    assert world.ledger.hedgeable(X, ["a"]) == set()
    assert not world.ledger.hedge(X, "a")


JOBS, CONTAINERS = ("a", "b", "once"), ("c1", "c2", "c3")
ACTIONS = st.lists(
    st.one_of(
        st.tuples(st.just("claim"), st.sampled_from(JOBS), st.sampled_from(CONTAINERS)),
        st.tuples(st.just("hedge"), st.sampled_from(JOBS), st.just("")),
        st.tuples(st.just("copy"), st.integers(0, 2), st.sampled_from(CONTAINERS)),
        st.tuples(
            st.just("end"),
            st.sampled_from(CONTAINERS),
            st.sampled_from(["accomplished", "failed", "failed for good", "cancelled", "killed"]),
        ),
        st.tuples(st.just("late"), st.integers(0, 20), st.just("")),
        st.tuples(st.just("release"), st.sampled_from((*CONTAINERS, "")), st.just("")),
        st.tuples(st.just("retry"), st.just(""), st.just("")),
    ),
    min_size=10,
    max_size=40,
)


@dataclass
class Model:
    """Who holds what, as it should be."""

    held: dict[str, Claim] = field(default_factory=dict)
    worthless: list[Claim] = field(default_factory=list)
    done: dict[str, JobState] = field(default_factory=dict)
    lost: Counter[str] = field(default_factory=Counter)
    failed: Counter[str] = field(default_factory=Counter)
    spent: set[str] = field(default_factory=set)
    lost_or_retried: int = 0
    copies: int = 0

    def drop(self, container: str) -> Claim:
        claim = self.held.pop(container)
        self.worthless.append(claim)
        return claim

    def given_up(self, job_id: str) -> JobState:
        """What becomes of a job whose last holder was lost, or failed."""
        if self.lost[job_id] >= LIMIT or self.failed[job_id] >= LIMIT or job_id in self.spent:
            self.done[job_id] = JobState.FAILED
        return self.done.get(job_id, JobState.QUEUED)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(actions=ACTIONS)
def test_whatever_happens_in_whatever_order_the_invariants_hold(
    client: StoreClient, actions: list[tuple[str, str | int, str]]
) -> None:
    client.flushall()
    world, model = World(client), Model()
    for what, first, second in actions:
        _act(world, model, what, first, second)
        _check(world, model)
        assert client.zcard(f"{experiment_key(X)}:leases") == len(model.held), "each copy has a lease"


def _act(world: World, model: Model, what: str, first: str | int, second: str) -> None:
    if what == "claim" and second not in model.held:
        _claim(world, model, str(first), second)
    elif what == "hedge":
        holders = [claim for claim in model.held.values() if claim.job_id == first]
        opened = world.ledger.hedge(X, str(first))
        assert not opened or (len(holders) == 1 and first != "once")
    elif what == "copy" and model.held and second not in model.held:
        job_id = list(model.held.values())[int(first) % len(model.held)].job_id
        world.ledger.hedge(X, job_id)
        _claim(world, model, job_id, second)
    elif what == "end" and first in model.held:
        _end(world, model, str(first), second)
    elif what == "late" and model.worthless:
        late = model.worthless[int(first) % len(model.worthless)]
        assert world.ledger.renew(late) is Renewal.LOST
        assert world.end(late, "accomplished") is None
    elif what == "release":
        gone = [name for name in list(model.held) if first in ("", name)]
        touched = {model.drop(name).job_id for name in gone}
        model.lost_or_retried += len(gone)
        model.lost.update(touched if first else ())
        alone = touched - {claim.job_id for claim in model.held.values()}
        released = world.ledger.release(X, str(first) or None)
        assert sorted(released) == sorted(alone), "each is given back once"
        assert {job_id: world.state(job_id) for job_id in alone} == {job_id: model.given_up(job_id) for job_id in alone}
        _due(world)
    elif what == "retry":
        for job_id in [job_id for job_id, state in model.done.items() if state is not JobState.ACCOMPLISHED]:
            del model.done[job_id], model.lost[job_id], model.failed[job_id]
            model.spent.discard(job_id)
            model.lost_or_retried += 1
        world.ledger.retry_failed(X)
        _due(world)


def _claim(world: World, model: Model, job_id: str, container: str) -> None:
    holders = [claim for claim in model.held.values() if claim.job_id == job_id]
    claim = world.ledger.claim(X, job_id, container=container, node="n1")
    if claim is None:
        return
    assert job_id not in model.done
    assert all(claim.token > other.token for other in (*holders, *model.worthless) if other.job_id == job_id)
    assert len(holders) <= (job_id != "once")
    model.copies += len(holders)
    model.held[container] = claim


def _end(world: World, model: Model, container: str, outcome: str) -> None:
    claim = model.drop(container)
    final = outcome == "failed for good"
    state = world.end(claim, "failed" if final else outcome, retry=not final)
    assert state is not None, "a token that nothing overtook is good"
    others = [name for name, other in model.held.items() if other.job_id == claim.job_id]
    if outcome == "accomplished":
        assert state is JobState.ACCOMPLISHED
        for name in others:
            model.drop(name)
        model.done[claim.job_id] = JobState.ACCOMPLISHED
    else:
        model.lost_or_retried += 1
        model.lost[claim.job_id] += outcome == "killed"
        model.failed[claim.job_id] += outcome == "failed"
        model.spent.update({claim.job_id} if final else ())
        if others:
            assert state is JobState.RUNNING
        elif outcome == "cancelled":
            model.done[claim.job_id] = JobState.CANCELLED
        else:
            assert state is model.given_up(claim.job_id)
    _due(world)


def _due(world: World) -> None:
    due = world.ledger.due(X)
    assert len(due) == len(set(due))


def _check(world: World, model: Model) -> None:
    counts = world.ledger.counts(X)
    assert counts.total == len(JOBS)
    assert counts.running == len({claim.job_id for claim in model.held.values()})
    for state in (JobState.ACCOMPLISHED, JobState.FAILED, JobState.CANCELLED):
        assert getattr(counts, state.value) == list(model.done.values()).count(state)
    expected = [model.held[name].job_id if name in model.held else None for name in CONTAINERS]
    assert world.busy(*CONTAINERS) == expected
    for claim in model.held.values():
        assert world.ledger.renew(claim) is Renewal.KEPT
    attempts = world.ledger.statistics(X).attempts
    assert attempts <= len(JOBS) + model.lost_or_retried + model.copies
    for job_id in JOBS:
        job = world.ledger.job(X, job_id)
        outcomes = [attempt.outcome for attempt in job.attempts]
        live = [claim for claim in model.held.values() if claim.job_id == job_id]
        assert outcomes.count(None) == len(live)
        assert outcomes.count(AttemptOutcome.ACCOMPLISHED) == (job.state is JobState.ACCOMPLISHED)
