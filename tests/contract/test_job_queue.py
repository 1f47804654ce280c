"""What every job queue owes manager and agents; run against each broker the adapter is used with."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from typing import Any
from uuid import uuid4

import pytest
from kombu import Exchange, Queue

from jqueuer.adapters.celery_queue import CeleryJobQueue, celery_app, queue_name
from jqueuer.errors import StoreUnavailableError
from jqueuer.signing import MessageSigner
from tests.contract.brokers import Broker, RabbitMQ
from tests.contract.brokers import broker as broker
from tests.contract.brokers import own_valkey as own_valkey
from tests.contract.brokers import rabbitmq as rabbitmq
from tests.contract.line import Line
from tests.contract.queue_worker import KEY
from tests.contract.queue_workers import Workers, started
from tests.contract.queue_workers import workers as workers

SIGNER = MessageSigner(KEY)
Eventually = Callable[[Callable[[], object], float], None]


@pytest.fixture
def queue(broker: Broker) -> CeleryJobQueue:
    return CeleryJobQueue(celery_app(broker.url), SIGNER)


@pytest.fixture
def one() -> str:
    """An experiment nobody had before."""
    return f"one-{uuid4().hex}"


@pytest.fixture
def two() -> str:
    return f"two-{uuid4().hex}"


def test_published_jobs_wait_in_their_own_experiments_queue(queue: CeleryJobQueue, one: str, two: str) -> None:
    assert queue.publish(one, (f"job-{number}" for number in range(1500))) == 1500
    assert queue.publish(two, ["a"]) == 1
    assert (queue.length(one), queue.length(two)) == (1500, 1)


def test_a_queue_nobody_published_to_is_empty(queue: CeleryJobQueue, one: str) -> None:
    assert queue.length(one) == 0


def test_a_deleted_queue_is_gone_with_whatever_was_in_it(
    queue: CeleryJobQueue, broker: Broker, one: str, two: str
) -> None:
    queue.publish(one, ["a", "b"])
    queue.publish(one, ["a"], again=True)
    queue.publish(two, ["c"])
    queue.delete(one)
    queue.delete("nobody")
    assert not broker.has_queue(queue_name(one))
    assert broker.has_queue(queue_name(two))
    assert queue.length(one) == 0


def test_a_purged_queue_is_empty_and_still_there(
    queue: CeleryJobQueue, broker: Broker, one: str, workers: Workers, eventually: Eventually
) -> None:
    events = workers.start(broker.url, one)
    eventually(lambda: "ready" in events.read_text(), 30)
    queue.publish(one, ["hold", "a"])
    eventually(lambda: "started hold" in events.read_text(), 30)
    queue.publish(one, ["b"], again=True)
    queue.purge(one)
    queue.purge("nobody")
    assert queue.length(one) == 0
    queue.publish(one, ["c"])
    (events.parent / "hold").touch()
    eventually(lambda: "ended c" in events.read_text(), 30)
    assert set(started(events)) - {"a", "b"} == {"hold", "c"}, "what its worker had been given already it keeps"


def test_a_message_is_json_that_names_the_job_and_nothing_else(queue: CeleryJobQueue, broker: Broker, one: str) -> None:
    queue.publish(one, ["a"])
    content_type, body = broker.first_message(queue_name(one))
    assert content_type == "application/json"
    assert json.loads(body) == [[one, "a"], {}, {}]


def test_a_worker_takes_one_job_after_the_other(
    queue: CeleryJobQueue, broker: Broker, one: str, workers: Workers, eventually: Eventually
) -> None:
    queue.publish(one, ["a", "b", "c"])
    events = workers.start(broker.url, one)
    eventually(lambda: "ended c" in events.read_text(), 30)
    lines = [line for line in events.read_text().splitlines() if line != "ready"]
    assert lines == ["started a", "ended a", "started b", "ended b", "started c", "ended c"]
    eventually(lambda: queue.length(one) == 0, 10)


def test_jobs_published_again_wait_beside_the_others(queue: CeleryJobQueue, one: str) -> None:
    assert queue.publish(one, ["a", "b", "c"]) == 3
    assert queue.publish(one, ["a", "b"], again=True) == 2
    assert queue.length(one) == 5


def test_jobs_published_again_are_handed_out_before_those_that_wait(
    queue: CeleryJobQueue, broker: Broker, one: str, workers: Workers, eventually: Eventually
) -> None:
    queue.publish(one, ["a", "b"])
    queue.publish(one, ["y", "x"], again=True)
    queue.publish(one, ["c"])
    queue.publish(one, ["z"], again=True)
    events = workers.start(broker.url, one)
    eventually(lambda: "ended c" in events.read_text(), 30)
    assert started(events) == ["y", "x", "z", "a", "b", "c"]


def test_a_worker_in_mid_job_gets_next_what_is_published_again(
    queue: CeleryJobQueue, broker: Broker, one: str, workers: Workers, eventually: Eventually
) -> None:
    events = workers.start(broker.url, one)
    queue.publish(one, ["hold", "a", "b"])
    eventually(lambda: "started hold" in events.read_text(), 30)
    queue.publish(one, ["x"], again=True)
    (events.parent / "hold").touch()
    eventually(lambda: "ended b" in events.read_text(), 30)
    assert started(events) == ["hold", "x", "a", "b"]


def test_an_experiment_goes_on_beside_its_queues_of_earlier_versions(
    queue: CeleryJobQueue, broker: Broker, one: str, workers: Workers, eventually: Eventually
) -> None:
    """They had one priority, or no signatures; RabbitMQ declares no queue a second time with other arguments."""
    former = {f"jqueuer.{one}": {"x-consumer-timeout": 604_800_000}, f"jqueuer.{one}.jobs": {"x-max-priority": 1}}
    with celery_app(broker.url).connection_for_write() as connection:
        for name, arguments in former.items():
            given = arguments if isinstance(broker.server, RabbitMQ) else {}
            bound: Any = Queue(name, Exchange(""), name, channel=connection.default_channel, queue_arguments=given)
            bound.declare()
            connection.Producer().publish([[one, "left"], {}, {}], routing_key=name)
    assert all(broker.has_queue(name) for name in former)
    assert queue.length(one) == 0  # so that the controller, who sees a container wait, publishes anew what is left
    events = workers.start(broker.url, one)
    queue.publish(one, ["left"])
    eventually(lambda: "ended left" in events.read_text(), 30)
    assert started(events) == ["left"]
    workers.end()
    queue.delete(one)
    assert not any(broker.has_queue(name) for name in former)


def test_a_short_job_does_not_wait_behind_a_long_one_while_somebody_is_idle(
    queue: CeleryJobQueue, broker: Broker, one: str, workers: Workers, eventually: Eventually
) -> None:
    """Prefetch is one: what a worker is not running stays in the queue for others."""
    busy = workers.start(broker.url, one)
    queue.publish(one, ["hold", "a", "b", "c"])
    eventually(lambda: "started hold" in busy.read_text(), 30)
    idle = workers.start(broker.url, one)
    eventually(lambda: idle.read_text().count("ended") == 3, 30)
    assert "ended" not in busy.read_text()


def test_the_message_of_a_worker_that_is_killed_comes_back(
    rabbitmq: RabbitMQ, one: str, workers: Workers, eventually: Eventually
) -> None:
    """On RabbitMQ at once; on Redis and Valkey the job's lease runs out and it is published again."""
    queue = CeleryJobQueue(celery_app(rabbitmq.broker_url), SIGNER)
    events = workers.start(rabbitmq.broker_url, one)
    queue.publish(one, ["hold"])
    eventually(lambda: "started hold" in events.read_text(), 30)
    assert queue.length(one) == 0
    workers.end()
    eventually(lambda: queue.length(one) == 1, 10)


def test_a_broker_that_dies_in_mid_job_comes_back_with_what_waited_and_workers_go_on(
    queue: CeleryJobQueue, broker: Broker, one: str, workers: Workers, eventually: Eventually
) -> None:
    """The job itself may be delivered again, which finds nothing to claim: here only the messages are looked at."""
    events = workers.start(broker.url, one)
    queue.publish(one, ["hold", "a"])
    eventually(lambda: "started hold" in events.read_text(), 30)
    queue.publish(one, ["b"], again=True)
    broker.kill()
    with pytest.raises(StoreUnavailableError, match="broker does not answer"):
        queue.publish(one, ["c"])
    broker.start()
    queue.publish(one, ["d"])
    (events.parent / "hold").touch()
    eventually(lambda: {"ended hold", "ended a", "ended b", "ended d"} <= set(events.read_text().splitlines()), 60)
    ran = Counter(events.read_text().splitlines())
    assert (ran["ended a"], ran["ended b"], ran["ended d"]) == (1, 1, 1)
    assert workers.processes[0].poll() is None


def test_a_manager_outlives_its_broker(queue: CeleryJobQueue, broker: Broker, one: str) -> None:
    queue.publish(one, ["a"])
    broker.kill()
    for ask in (lambda: queue.publish(one, ["b"]), lambda: queue.length(one), lambda: queue.delete(one)):
        with pytest.raises(StoreUnavailableError, match="broker does not answer"):
            ask()
    broker.start()
    assert queue.length(one) == 1
    assert queue.publish(one, ["b"]) == 1
    assert queue.length(one) == 2


def test_a_manager_notices_nothing_of_a_restart_between_two_questions(
    queue: CeleryJobQueue, broker: Broker, one: str
) -> None:
    queue.publish(one, ["a"])
    broker.kill()
    broker.start()
    assert queue.publish(one, ["b", "c"]) == 2
    assert queue.length(one) == 3


def test_a_worker_whose_line_was_cut_goes_on_taking_jobs(
    rabbitmq: RabbitMQ, one: str, workers: Workers, eventually: Eventually
) -> None:
    """Nobody closes its connection, so it must notice the silence: AMQP's heartbeat, here every second."""
    queue, line = CeleryJobQueue(celery_app(rabbitmq.broker_url), SIGNER), Line(rabbitmq.port)
    try:
        events = workers.start(rabbitmq.broker_url.replace(str(rabbitmq.port), str(line.port)), one, "1")
        queue.publish(one, ["a"])
        eventually(lambda: "ended a" in events.read_text(), 30)
        line.cut()
        line.mend()
        queue.publish(one, ["b"])
        eventually(lambda: "ended b" in events.read_text(), 60)
    finally:
        line.close()


def test_workers_ask_for_a_heartbeat(rabbitmq: RabbitMQ) -> None:
    app = celery_app(rabbitmq.broker_url)
    with app.connection_for_read(heartbeat=app.conf.broker_heartbeat) as connection:
        assert connection.connect().heartbeat == 10


def test_rabbitmq_is_told_what_queues_are_for(rabbitmq: RabbitMQ, one: str) -> None:
    """It takes a job from its worker again after half an hour otherwise, and knows no priorities."""
    CeleryJobQueue(celery_app(rabbitmq.broker_url), SIGNER).publish(one, ["a"])
    queues = dict(line.split("\t") for line in rabbitmq.control("list_queues", "name", "arguments").splitlines()[1:])
    told = set(queues[queue_name(one)].strip("[{}]").split("},{"))
    assert told == {'"x-consumer-timeout",604800000', '"x-max-priority",1', '"x-queue-type","classic"'}


def test_a_broker_that_refuses_is_said_so(rabbitmq: RabbitMQ, one: str) -> None:
    stranger = CeleryJobQueue(celery_app(rabbitmq.broker_url.replace("guest:guest", "guest:wrong")), SIGNER)
    with pytest.raises(StoreUnavailableError, match=r"refuses: .*ACCESS_REFUSED"):
        stranger.publish(one, ["a"])


def test_a_broker_that_was_never_there_is_said_so() -> None:
    lonely = CeleryJobQueue(celery_app("redis+socket:///nowhere/valkey.sock?virtual_host=1"), SIGNER)
    with pytest.raises(StoreUnavailableError, match="broker does not answer"):
        lonely.length("one")
