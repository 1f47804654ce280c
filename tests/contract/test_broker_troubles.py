"""RabbitMQ holds publishers up, or takes a delivery back from a job that takes long: nobody stands still for it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from uuid import uuid4

import pytest

from jqueuer.adapters import celery_queue
from jqueuer.adapters.celery_queue import CeleryJobQueue, celery_app
from jqueuer.errors import StoreUnavailableError
from jqueuer.signing import MessageSigner
from tests.contract.brokers import RabbitMQ
from tests.contract.brokers import rabbitmq as rabbitmq
from tests.contract.queue_worker import KEY
from tests.contract.queue_workers import Workers, started
from tests.contract.queue_workers import workers as workers

Eventually = Callable[[Callable[[], object], float], None]


@pytest.fixture
def one() -> str:
    """An experiment nobody had before."""
    return f"one-{uuid4().hex}"


@pytest.fixture
def short_of_memory(rabbitmq: RabbitMQ) -> Iterator[Callable[[bool], None]]:
    """Raises the alarm, and calls it off."""
    limit = "vm_memory_high_watermark"

    def alarm(on: bool) -> None:
        rabbitmq.control("set_" + limit, *(("absolute", "1MB") if on else ("0.4",)))

    yield alarm
    alarm(False)


def test_publishers_that_are_held_up_say_so_and_can_do_everything_else(
    rabbitmq: RabbitMQ,
    one: str,
    workers: Workers,
    short_of_memory: Callable[[bool], None],
    monkeypatch: pytest.MonkeyPatch,
    eventually: Eventually,
) -> None:
    monkeypatch.setattr(celery_queue, "_CONFIRM_SECONDS", 1.0)
    queue = CeleryJobQueue(celery_app(rabbitmq.broker_url), MessageSigner(KEY))
    queue.publish(one, ["hold", "a"])
    events = workers.start(rabbitmq.broker_url, one)
    eventually(lambda: "started hold" in events.read_text(), 30)
    short_of_memory(True)
    for _ in range(2):
        with pytest.raises(StoreUnavailableError, match="broker"):
            queue.publish(one, ["b"])
    begun = time.monotonic()
    assert queue.length(one) >= 0
    assert time.monotonic() - begun < 20, "a look does not hang on a connection that is held up"
    (events.parent / "hold").touch()
    eventually(lambda: "ended a" in events.read_text(), 30)
    short_of_memory(False)
    eventually(lambda: _taken(queue, one), 30)
    eventually(lambda: "ended b" in events.read_text(), 30)


def _taken(queue: CeleryJobQueue, experiment_id: str) -> bool:
    try:
        return queue.publish(experiment_id, ["b"]) == 1
    except StoreUnavailableError:
        return False


@pytest.fixture
def impatient(rabbitmq: RabbitMQ) -> Iterator[None]:
    """It takes a delivery back after two seconds, and looks for such every second.

    By the broker's own setting: the versions before 3.12 have no other.
    """
    before = rabbitmq.control("eval", "application:get_env(rabbit, consumer_timeout).").strip()
    for name, value in (("consumer_timeout", "2000"), ("channel_tick_interval", "1000")):
        rabbitmq.control("eval", f"application:set_env(rabbit, {name}, {value}).")
    yield
    milliseconds = before.removeprefix("{ok,").removesuffix("}")
    restored = milliseconds if milliseconds.isdigit() else "1800000"
    rabbitmq.control("eval", f"application:set_env(rabbit, consumer_timeout, {restored}).")
    rabbitmq.control("eval", "application:set_env(rabbit, channel_tick_interval, 60000).")


@pytest.mark.usefixtures("impatient")
def test_a_job_that_outlasts_the_brokers_patience_runs_to_its_end(
    rabbitmq: RabbitMQ, one: str, workers: Workers, eventually: Eventually
) -> None:
    """Somebody else is handed its message meanwhile, and would find nothing to claim; here it runs twice."""
    queue = CeleryJobQueue(celery_app(rabbitmq.broker_url), MessageSigner(KEY))
    first = workers.start(rabbitmq.broker_url, one)
    queue.publish(one, ["hold"])
    eventually(lambda: started(first) == ["hold"], 30)
    second = workers.start(rabbitmq.broker_url, one)
    eventually(lambda: started(first)[1:] + started(second) != [], 60)
    assert "ended" not in first.read_text()
    for events in (first, second):
        (events.parent / "hold").touch()
    eventually(lambda: "ended hold" in first.read_text(), 30)
