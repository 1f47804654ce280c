"""What every job queue owes manager and agents; run against each adapter of the port."""

from __future__ import annotations

import pytest

from jqueuer.adapters.celery_queue import CeleryJobQueue, celery_app, queue_name
from jqueuer.adapters.redis_store import connect
from jqueuer.adapters.valkey import ValkeyServer
from jqueuer.errors import StoreUnavailableError


@pytest.fixture
def queue(valkey: ValkeyServer) -> CeleryJobQueue:
    with connect(f"unix://{valkey.socket}?db=1") as broker:
        broker.flushdb()
    return CeleryJobQueue(celery_app(valkey.broker_url))


def test_published_jobs_wait_in_their_own_experiments_queue(queue: CeleryJobQueue) -> None:
    assert queue.publish("one", (f"job-{number}" for number in range(1500))) == 1500
    assert queue.publish("two", ["a"]) == 1
    assert (queue.length("one"), queue.length("two")) == (1500, 1)


def test_a_queue_nobody_published_to_is_empty(queue: CeleryJobQueue) -> None:
    assert queue.length("nobody") == 0


def test_a_deleted_queue_is_gone_with_whatever_was_in_it(queue: CeleryJobQueue, valkey: ValkeyServer) -> None:
    queue.publish("one", ["a", "b"])
    queue.publish("two", ["c"])
    queue.delete("one")
    queue.delete("nobody")
    with connect(f"unix://{valkey.socket}?db=1") as broker:
        assert broker.keys("jqueuer.*") == [queue_name("two")]
    assert queue.length("one") == 0


def test_a_message_is_json_that_names_the_job_and_nothing_else(queue: CeleryJobQueue, valkey: ValkeyServer) -> None:
    import base64
    import json

    queue.publish("one", ["a"])
    with connect(f"unix://{valkey.socket}?db=1") as broker:
        envelope = json.loads(broker.lindex(queue_name("one"), 0))
    assert envelope["content-type"] == "application/json"
    assert json.loads(base64.b64decode(envelope["body"]))[:2] == [["one", "a"], {}]


def test_a_broker_that_is_away_is_said_so() -> None:
    lonely = CeleryJobQueue(celery_app("redis+socket:///nowhere/valkey.sock?virtual_host=1"))
    with pytest.raises(StoreUnavailableError, match="broker does not answer"):
        lonely.length("one")
