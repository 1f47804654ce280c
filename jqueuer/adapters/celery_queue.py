"""Job queues on Celery: one durable queue per experiment, messages that carry ids."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from typing import Any, Final

import redis
from celery import Celery
from kombu import Exchange, Queue, uuid
from kombu.exceptions import OperationalError

from jqueuer.adapters import redis_transport
from jqueuer.errors import StoreUnavailableError

TASK_NAME: Final = "jqueuer.job"
"""The Celery task of every job message; its arguments are the experiment's id and the job's."""

LONGEST_JOB_SECONDS: Final = 7 * 86_400
"""Brokers hand a message out again after so long; the lease absorbs the duplicate."""


def celery_app(broker_url: str) -> Celery:
    """The Celery application: late acknowledgement, one message at a time, no results, no remote control."""
    redis_transport.use()
    app = Celery("jqueuer", broker=broker_url, set_as_current=False)
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
        broker_connection_retry_on_startup=True,
        broker_connection_max_retries=None,
        broker_transport_options={"visibility_timeout": LONGEST_JOB_SECONDS, "confirm_publish": True},
    )
    return app


def job_queue(experiment_id: str, broker_url: str = "") -> Queue:
    """The queue of an experiment; published to directly, without a routing table to look up."""
    name = queue_name(experiment_id)
    arguments = {"x-consumer-timeout": LONGEST_JOB_SECONDS * 1000} if broker_url.startswith("amqp") else None
    return Queue(name, exchange=Exchange(""), routing_key=name, durable=True, queue_arguments=arguments)


def queue_name(experiment_id: str) -> str:
    """The name of an experiment's queue."""
    return f"jqueuer.{experiment_id}"


class CeleryJobQueue:
    """The :class:`~jqueuer.ports.JobQueue` on Celery."""

    def __init__(self, app: Celery) -> None:
        self._app = app

    def publish(self, experiment_id: str, job_ids: Iterable[str]) -> int:
        """Put messages into the experiment's queue, confirmed where the broker can."""
        queue, count = self._queue(experiment_id), 0
        with _broker_errors(), self._app.producer_pool.acquire(block=True) as producer:
            queue(producer.channel).declare()
            for job_id in job_ids:
                # What send_task does, less the routing that every message of a batch shares.
                message = self._app.amqp.as_task_v2(uuid(), TASK_NAME, args=(experiment_id, job_id))
                producer.publish(
                    message.body,
                    exchange="",
                    routing_key=queue.name,
                    serializer="json",
                    delivery_mode=2,  # persistent
                    headers=message.headers,
                    retry=True,
                    **message.properties,
                )
                count += 1
        return count

    def length(self, experiment_id: str) -> int:
        """Messages waiting; 0 where there is no queue."""
        with _broker_errors(), self._connection() as connection:
            absent: tuple[type[BaseException], ...] = connection.channel_errors
            try:
                with connection.channel() as channel:
                    declared = self._queue(experiment_id)(channel).queue_declare(passive=True)
            except absent:
                return 0
            return int(declared.message_count)

    def delete(self, experiment_id: str) -> None:
        """Remove the queue with whatever is in it."""
        with _broker_errors(), self._connection() as connection:
            absent: tuple[type[BaseException], ...] = connection.channel_errors
            with contextlib.suppress(*absent), connection.channel() as channel:
                queue = self._queue(experiment_id)(channel)
                queue.purge()  # on Redis a queue is gone when it is empty, and only then
                queue.delete()
                if isinstance(channel, redis_transport.Channel):
                    channel.forget_unacknowledged(queue.name)

    def _connection(self) -> Any:
        # Any: the type stubs take the pool's connections for producers.
        return self._app.pool.acquire(block=True)

    def _queue(self, experiment_id: str) -> Any:
        # Any: the type stubs do not know that a queue is bound to a channel by calling it.
        return job_queue(experiment_id, str(self._app.conf.broker_url))


class _broker_errors:  # noqa: N801 - reads as a statement
    """Turns the many ways a broker can be away into one."""

    def __enter__(self) -> None: ...

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        if isinstance(error, OperationalError | redis.ConnectionError | redis.TimeoutError | OSError):
            raise StoreUnavailableError(f"the broker does not answer: {error}") from error
