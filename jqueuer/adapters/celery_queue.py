"""Job queues on Celery: one durable queue per experiment, messages that carry ids."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final, TypeVar

import redis
from amqp.exceptions import AMQPError
from celery import Celery
from celery.app.amqp import AMQP
from kombu import Connection, Exchange, Queue
from kombu import exceptions as typed_exceptions
from kombu.exceptions import OperationalError

from jqueuer.adapters import redis_transport, tls
from jqueuer.adapters.job_messages import compose
from jqueuer.errors import StoreUnavailableError
from jqueuer.signing import MessageSigner

kombu_exceptions: Any = typed_exceptions  # the type stubs are older than batches

LONGEST_JOB_SECONDS: Final = 7 * 86_400
"""Brokers hand a message out again after so long; the lease absorbs the duplicate."""

HEARTBEAT_SECONDS: Final = 10
"""AMQP's own: a connection that carried nothing for two of them is given up, at both ends."""

_CONFIRM_SECONDS: Final = 10.0
"""A broker short of memory or disk holds publishers up; the control loop has other things to do."""

_BATCH: Final = 100
"""Messages that Redis is sent at once; where a batch breaks off all of it is published again. AMQP confirms each."""

_RECONNECT_SECONDS: Final = 0.2
_LONGEST_RECONNECT_SECONDS: Final = 3.0

_AWAY: Final = (OperationalError, AMQPError, redis.RedisError, OSError)

_T = TypeVar("_T")


class _Connection(Connection):
    """Looks for a broker that is away every few seconds; kombu waits longer each time, for half a minute at last."""

    def ensure_connection(self, *args: Any, **kwargs: Any) -> Any:
        """As kombu's, with a lower limit for the pauses."""
        return super().ensure_connection(*args, **{"interval_max": _LONGEST_RECONNECT_SECONDS, **kwargs})


class _Amqp(AMQP):
    Connection = _Connection


def celery_app(broker_url: str, *, ca_file: Path | None = None) -> Celery:
    """The Celery application: late acknowledgement, one message at a time, no results, no remote control.

    ``ca_file`` has the certificates by which a broker behind ``amqps://`` or ``rediss://`` is known, if not by those of
    the system.
    """
    redis_transport.use()
    app = Celery("jqueuer", broker=broker_url, set_as_current=False, amqp=_Amqp)
    app.conf.update(
        task_acks_late=True,
        task_ignore_result=True,
        task_reject_on_worker_lost=True,
        task_serializer="json",
        accept_content=["json"],
        task_default_delivery_mode="persistent",
        worker_prefetch_multiplier=1,
        worker_enable_remote_control=False,
        worker_send_task_events=False,
        worker_hijack_root_logger=False,
        worker_cancel_long_running_tasks_on_connection_loss=False,
        broker_heartbeat=HEARTBEAT_SECONDS,
        broker_connection_retry_on_startup=True,
        broker_connection_max_retries=None,
        broker_use_ssl=tls.broker_options(broker_url, ca_file),
        broker_transport_options={"visibility_timeout": LONGEST_JOB_SECONDS, "confirm_publish": True},
    )
    return app


def job_queue(experiment_id: str, broker_url: str) -> Queue:
    """The queue of an experiment; published to directly, without a routing table to look up."""
    name = queue_name(experiment_id)
    arguments = {
        "x-queue-type": "classic",  # whatever the broker's default is: no other type keeps to priorities
        "x-max-priority": 1,
        "x-consumer-timeout": LONGEST_JOB_SECONDS * 1000,
    }
    given = arguments if _is_amqp(broker_url) else None
    return Queue(name, exchange=Exchange(""), routing_key=name, durable=True, queue_arguments=given)


def queue_name(experiment_id: str) -> str:
    """The name of an experiment's queue.

    RabbitMQ refuses to declare a queue that is there with other arguments, and agents refuse messages of another form:
    whoever changes either changes the name, so that managers and agents of before and after do not meet. Jobs left in a
    former queue are published again by the controller, which finds the new one empty. So are those whose messages were
    signed with a key that was changed since: they are dropped, and then the queue is empty.
    """
    return f"jqueuer.{experiment_id}.signed"


def _former_queue_names(experiment_id: str) -> tuple[str, ...]:
    """Of queues without priorities or signatures; an experiment that runs while JQueuer is upgraded leaves them."""
    return f"jqueuer.{experiment_id}", f"jqueuer.{experiment_id}.jobs"


def _is_amqp(broker_url: str) -> bool:
    return broker_url.startswith("amqp")


class CeleryJobQueue:
    """The :class:`~jqueuer.ports.JobQueue` on Celery; messages are signed for the agents' workers."""

    def __init__(self, app: Celery, signer: MessageSigner) -> None:
        self._app = app
        self._signer = signer
        self._broker_url = str(app.conf.broker_url)

    def publish(self, experiment_id: str, job_ids: Iterable[str], *, again: bool = False) -> int:
        """Put messages into the experiment's queue, confirmed where the broker can."""
        queue, ids, count = self._queue(experiment_id), list(job_ids), 0
        # RabbitMQ hands out the highest priority first, kombu on Redis the lowest.
        priority = int(again if _is_amqp(self._broker_url) else not again)
        most = 1 if _is_amqp(self._broker_url) else _BATCH

        def publish_rest(connection: Any) -> None:
            nonlocal count
            with _channel(connection) as channel:
                queue(channel).declare()
                producer: Any = self._app.amqp.Producer(channel, auto_declare=False)
                while batch := ids[count : count + most]:
                    with _each_its_own_error(), producer.batch(max_size=most):
                        for job_id in batch:
                            body, headers = compose(self._signer, experiment_id, job_id)
                            producer.publish(
                                body,
                                exchange="",
                                routing_key=queue.name,
                                serializer="json",
                                delivery_mode=2,  # persistent
                                priority=priority,
                                headers=headers,
                                confirm_timeout=_CONFIRM_SECONDS,
                            )
                    count += len(batch)

        self._ask(publish_rest)
        return count

    def length(self, experiment_id: str) -> int:
        """Messages waiting; 0 where there is no queue."""
        queue = self._queue(experiment_id)

        def count(connection: Any) -> int:
            with suppress(*connection.channel_errors), _channel(connection) as channel:
                return int(queue(channel).queue_declare(passive=True).message_count)
            return 0

        return self._ask(count)

    def check(self) -> None:
        """Return where the broker answers; a queue that is not there would be a line in its log at each question."""

        def ask(connection: Any) -> None:
            with _channel(connection) as channel:
                if isinstance(channel, redis_transport.Channel):
                    channel.client.ping()

        self._ask(ask)

    def purge(self, experiment_id: str) -> None:
        """Throw away the messages that wait."""

        def empty(connection: Any) -> None:
            with suppress(*connection.channel_errors), _channel(connection) as channel:
                channel.queue_purge(queue_name(experiment_id))

        self._ask(empty)

    def delete(self, experiment_id: str) -> None:
        """Remove the queue with whatever is in it."""

        def remove(connection: Any) -> None:
            for name in (queue_name(experiment_id), *_former_queue_names(experiment_id)):
                with _channel(connection) as channel:
                    channel.queue_delete(name)  # RabbitMQ has nothing against one that is not there
                    if isinstance(channel, redis_transport.Channel):
                        channel.queue_purge(name)  # on Redis a queue is gone when it is empty, and only then
                        channel.forget_unacknowledged(name)

        self._ask(remove)

    def _ask(self, question: Callable[[Any], _T]) -> _T:
        """Ask over a pooled connection, and over a fresh one where the broker has gone from the other end of that."""
        with _broker_errors(), self._pool().acquire(block=True) as connection:
            if connection.connected:
                with suppress(*connection.recoverable_connection_errors):
                    return _ask_over(connection, question)
            connection.ensure_connection(max_retries=1, interval_start=_RECONNECT_SECONDS, interval_step=0)
            return _ask_over(connection, question)

    def _pool(self) -> Any:
        # Any: the type stubs take the pool's connections for producers.
        return self._app.pool

    def _queue(self, experiment_id: str) -> Any:
        # Any: the type stubs do not know that a queue is bound to a channel by calling it.
        return job_queue(experiment_id, self._broker_url)


def _ask_over(connection: Any, question: Callable[[Any], _T]) -> _T:
    try:
        return question(connection)
    except BaseException:
        connection.collect()  # whatever state it is in, nobody else gets it
        raise


@contextmanager
def _channel(connection: Any) -> Iterator[Any]:
    """A channel for one question: on AMQP the wrong answer closes it, on Redis making one costs five answers."""
    if connection.transport.driver_type == "amqp":
        channel = connection.channel()
        yield channel
        channel.close()  # not after a failure: a broker that holds publishers up would not answer to it either
    else:
        yield connection.default_channel


@contextmanager
def _each_its_own_error() -> Iterator[None]:
    """What made a batch fail, not that it did: by that it is known whether another connection helps."""
    try:
        yield
    except kombu_exceptions.BatchPublishError as error:
        raise error.__cause__ or error from None


class _broker_errors:  # noqa: N801 - reads as a statement
    """Turns the many ways a broker can be away into one."""

    def __enter__(self) -> None: ...

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        if isinstance(error, _AWAY):
            raise StoreUnavailableError(f"the broker does not answer, or refuses: {error}{tls.hint(error)}") from error
