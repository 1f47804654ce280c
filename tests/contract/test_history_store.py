"""What a store keeps for drawing: points of an experiment's history, spans of its attempts; never more than so many."""

from __future__ import annotations

import itertools

import pytest

from jqueuer.adapters.redis_store import RedisExperimentStore, RedisJobLedger, history
from jqueuer.adapters.redis_store.connection import StoreClient
from jqueuer.model import POST_JOB_ID, Experiment, FailurePolicy, Job, Task
from jqueuer.records import Claim, ExperimentRecord, HistoryPoint
from jqueuer.states import ExperimentState
from tests.contract.copies_world import X, a_job, attempt_of

FULL = HistoryPoint(
    at=1000.5,
    queued=5,
    running=4,
    accomplished=3,
    failed=2,
    cancelled=1,
    wanted=9,
    requested=8,
    starting=1,
    idle=2,
    busy=4,
    draining=3,
    p50_at=1100.0,
    p80_at=1150.0,
    p95_at=1200.0,
    probability=0.97,
)


class World:
    """An accepted experiment with three jobs, and a way to run them."""

    def __init__(self, client: StoreClient) -> None:
        self.client = client
        self.store = RedisExperimentStore(client)
        self.ledger = RedisJobLedger(client, max_lost_attempts=2)
        description = Experiment(hedge=True, on_failure=FailurePolicy(max_attempts=2), idempotent=True)
        self.store.create(
            ExperimentRecord(id=X, description=description, state=ExperimentState.RECEIVING, created_at=1)
        )
        self.ledger.add(X, [a_job(job_id) for job_id in "abc"])
        self.store.accept(X)

    def claim(self, job_id: str, container: str = "c1") -> Claim:
        claim = self.ledger.claim(X, job_id, container=container, node="n1")
        assert claim is not None
        return claim

    def end(self, claim: Claim, outcome: str = "accomplished") -> None:
        assert self.ledger.finish(claim, attempt_of(claim, outcome)) is not None

    def record(self, *moments: float, at_once: bool = False) -> list[float]:
        return [self.store.record_point(X, HistoryPoint(at=at), at_once=at_once) for at in moments]

    def moments(self) -> list[float]:
        return [point.at for point in self.store.history(X)]

    def spans(self) -> list[tuple[str, int, str, str | None]]:
        return sorted((one.job, one.attempt, one.container, one.outcome) for one in self.ledger.spans(X))


@pytest.fixture
def world(client: StoreClient) -> World:
    return World(client)


def test_a_point_is_remembered_as_it_was(world: World) -> None:
    world.store.record_point(X, FULL)
    world.store.record_point(X, HistoryPoint(at=1002.0))
    assert world.store.history(X) == [FULL, HistoryPoint(at=1002.0)]


def test_a_point_that_comes_too_early_is_not_kept_and_told_when_it_may_come(world: World) -> None:
    assert world.record(1000.0, 1000.25, 1001.0) == [1.0, 0.75, 1.0]
    assert world.moments() == [1000.0, 1001.0]


def test_a_point_of_importance_is_kept_however_early_it_comes(world: World) -> None:
    world.record(1000.0)
    world.record(1000.25, at_once=True)
    assert world.moments() == [1000.0, 1000.25]


def test_a_point_of_an_older_version_lacks_what_came_later(world: World) -> None:
    world.client.rpush(f"jq:x:{X}:history", '{"at": 1000.0, "queued": 5, "p50_at": 1100.0}')
    assert world.store.history(X) == [HistoryPoint(at=1000.0, queued=5, p50_at=1100.0)]


def test_the_latest_points_are_told_of_many_experiments_at_once(world: World) -> None:
    """What was remembered last counts, whatever was done to the clock in between."""
    world.record(1000.0, at_once=True)
    world.store.record_point(X, FULL, at_once=True)
    world.record(900.0, at_once=True)
    other = ExperimentRecord(id="other", description=Experiment(), state=ExperimentState.RECEIVING, created_at=1)
    world.store.create(other)
    world.store.record_point("other", FULL)
    assert world.store.latest_points(["other", "nobody", X]) == [FULL, None, HistoryPoint(at=900.0)]
    assert world.store.latest_points([]) == []


def test_points_are_thinned_as_time_goes_on(world: World) -> None:
    """However long it takes there are 300 to 600, evenly spread from the very first on."""
    moment, sizes = 0.0, set()
    while moment < 5000:
        moment += world.record(moment)[0]
        sizes.add(world.client.llen(f"jq:x:{X}:history"))
    found = world.moments()
    assert max(sizes) == history.MOST_POINTS
    assert 300 <= len(found) <= 600
    assert {after - before for before, after in itertools.pairwise(found)} == {16.0}
    assert found[0] == 0.0


def test_a_clock_that_is_set_back_stops_no_history(world: World) -> None:
    world.record(5000.0, 1000.0, 1000.5, 1001.0)
    assert world.moments() == [1000.0, 1001.0, 5000.0]


def test_an_experiment_that_is_gone_has_no_history_and_gets_none(world: World) -> None:
    world.record(1000.0)
    world.end(world.claim("a"))
    world.store.delete(X)
    world.record(2000.0)
    assert (world.moments(), world.spans()) == ([], [])
    assert not world.client.keys(f"jq:x:{X}*")


def test_every_attempt_leaves_its_span(world: World) -> None:
    world.end(world.claim("a"))
    world.end(world.claim("b", "c2"), "failed")
    world.claim("c", "c3")
    world.ledger.release(X, "c3")
    world.end(world.claim("c", "c4"), "killed")
    last = world.claim("b", "c5")
    assert world.spans() == [
        ("a", 1, "c1", "accomplished"),
        ("b", 1, "c2", "failed"),
        ("b", 2, "c5", None),
        ("c", 1, "c3", "lost"),
        ("c", 2, "c4", "killed"),
    ]
    first, running = (one for one in world.ledger.spans(X) if one.container in ("c1", "c5"))
    assert (first.node, first.finished_at) == ("n1", first.started_at + 2.0)
    assert (running.started_at, running.finished_at) == (last.started_at, None)


def test_of_two_copies_both_have_one(world: World) -> None:
    first = world.claim("a", "c1")
    assert world.ledger.hedge(X, "a")
    world.claim("a", "c2")
    assert world.spans() == [("a", 1, "c1", None), ("a", 2, "c2", None)]
    world.end(first)
    assert world.spans() == [("a", 1, "c1", "accomplished"), ("a", 2, "c2", "cancelled")]


def test_the_post_command_has_one(world: World) -> None:
    world.ledger.add_post(X, Job(id="post", tasks=(Task(command=("true",)),)))
    claim = world.claim(POST_JOB_ID)
    assert world.spans() == [(POST_JOB_ID, 1, "c1", None)]
    world.end(claim)
    assert world.spans() == [(POST_JOB_ID, 1, "c1", "accomplished")]


def test_of_many_attempts_the_latest_are_kept(world: World) -> None:
    world.end(world.claim("a"))
    world.client.rpush(f"jq:x:{X}:spans", *world.client.lrange(f"jq:x:{X}:spans", 0, -1) * history.MOST_SPANS)
    world.end(world.claim("b"))
    assert world.client.llen(f"jq:x:{X}:spans") == history.MOST_SPANS
    assert world.ledger.spans(X)[-1].job == "b"


def test_experiments_are_counted_by_state(world: World) -> None:
    assert world.store.count_by_state() == {ExperimentState.RUNNING: 1}
    unseen = ExperimentRecord(id="u", description=Experiment(), state=ExperimentState.RECEIVING, created_at=1)
    world.store.create(unseen)
    world.store.move(X, [ExperimentState.RUNNING], ExperimentState.CANCELLED)
    assert world.store.count_by_state() == {ExperimentState.CANCELLED: 1}
