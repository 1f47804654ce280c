"""Which jobs are given to a second container, and how often."""

from __future__ import annotations

from jqueuer.model import POST_JOB_ID
from jqueuer.ports import Renewal
from jqueuer.states import JobState
from tests.contract.copies_world import PAUSED, RUNNING, World, X, a_job
from tests.contract.copies_world import world as world


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
