"""What ledger, store and broker owe those who only watch."""

from __future__ import annotations

import socket
from collections.abc import Callable

import pytest

from jqueuer.adapters.celery_queue import CeleryJobQueue, celery_app
from jqueuer.adapters.redis_store.connection import StoreClient
from jqueuer.errors import StoreUnavailableError
from jqueuer.signing import MessageSigner
from jqueuer_manager.broker_watch import BrokerWatch
from tests.contract.brokers import Broker
from tests.contract.brokers import broker as broker
from tests.contract.brokers import own_valkey as own_valkey
from tests.contract.brokers import rabbitmq as rabbitmq
from tests.contract.test_job_ledger import World, X

Eventually = Callable[[Callable[[], object], float], None]


def queue_of(url: str) -> CeleryJobQueue:
    return CeleryJobQueue(celery_app(url), MessageSigner(""))


def test_the_last_claim_and_the_last_outcome_are_known(client: StoreClient) -> None:
    world = World(client)
    before = world.experiments.now()
    assert world.ledger.activity(X).claimed_at is None
    claim = world.claim("a")
    activity = world.ledger.activity(X)
    assert (activity.claimed_at, activity.ended_at) == (claim.started_at, None)
    world.end(claim, "failed")
    ended_at = world.ledger.activity(X).ended_at
    assert ended_at is not None
    assert before - 1 < ended_at < world.experiments.now() + 1


def test_a_lost_attempt_is_no_outcome(client: StoreClient) -> None:
    """Whose jobs are lost again and again makes no progress."""
    world = World(client)
    world.end(world.claim("a"), "killed")
    assert world.claim("b")
    world.ledger.release(X, "c1")
    assert world.ledger.activity(X).ended_at is None


def test_the_store_tells_how_much_memory_it_uses(client: StoreClient) -> None:
    world = World(client)
    before = world.experiments.memory_bytes()
    client.set("ballast", "x" * 5_000_000)
    assert world.experiments.memory_bytes() > before + 5_000_000 > 5_000_000


def test_a_broker_tells_whether_it_is_there(broker: Broker, eventually: Eventually) -> None:
    queue = queue_of(broker.url)
    queue.check()
    queue.publish("one", ["a", "b"])
    watch = BrokerWatch(queue, patience_seconds=10)
    assert watch.lengths(["one", "none"]) == {"one": 2, "none": 0}
    broker.kill()
    try:
        with pytest.raises(StoreUnavailableError, match="the broker does not answer"):
            queue.check()
        assert watch.lengths(["one"]) is None
    finally:
        broker.start()
    eventually(lambda: watch.lengths(["one"]) == {"one": 2}, 20)
    queue.delete("one")


def test_nobody_waits_long_for_a_broker_that_says_nothing() -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        watch = BrokerWatch(queue_of(f"redis://127.0.0.1:{silent.getsockname()[1]}/0"), patience_seconds=0.1)
        assert watch.lengths(["one"]) is None
        assert watch.lengths(["one"]) is None  # the same question is still open
