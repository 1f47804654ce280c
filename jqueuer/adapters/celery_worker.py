"""Taking jobs from a queue on Celery: the worker that a container manager is."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable
from typing import Any

from celery import Celery
from celery.exceptions import CPendingDeprecationWarning, Reject, SecurityWarning
from celery.signals import worker_ready
from celery.utils.log import get_logger
from celery.worker import consumer, state

from jqueuer.adapters import amqp_messages
from jqueuer.adapters.celery_queue import job_queue, queue_name
from jqueuer.adapters.job_messages import TASK_NAME, Refusal, RefusedMessageError, named_job, say_refused
from jqueuer.signing import MessageSigner

Consumer: Any = consumer.Consumer  # the type stubs know only the half of it


class NotBegunError(Exception):
    """Raised by who is handed a job and has not begun it: its message goes back into the queue."""


def told_to_stop() -> bool:
    """Whether SIGTERM has come, in the process that takes jobs."""
    return state.should_stop is not None and state.should_stop is not False


def take_jobs(
    app: Celery,
    experiment_id: str,
    signer: MessageSigner,
    *,
    name: str,
    handle: Callable[[str, str], object],
    ready: Callable[[], None],
) -> int:
    """Hand the experiment's jobs to ``handle`` (experiment id, job id), one after the other, until SIGTERM.

    In the main thread of a process that does nothing else; ``ready`` is called when the first job can come. A job that
    is running when SIGTERM comes is finished first. A broker that is away is waited for. What is not a signed message
    of the experiment is dropped (:mod:`~jqueuer.adapters.job_messages`). Returns the exit status.
    """
    amqp_messages.use()
    logging.getLogger("celery.app.trace").setLevel(logging.ERROR)  # it warns of jobs that are put back
    warnings.filterwarnings("ignore", category=SecurityWarning)  # about pickle, which is not accepted here
    warnings.filterwarnings("ignore", category=CPendingDeprecationWarning)  # about what the lease makes good
    app.conf.task_queues = [job_queue(experiment_id, str(app.conf.broker_url))]

    @app.task(name=TASK_NAME, shared=False)
    def run_job(experiment: str, job: str) -> None:
        try:
            handle(experiment, job)
        except NotBegunError:
            raise Reject(requeue=True) from None

    @worker_ready.connect(weak=False)
    def announce(**_: object) -> None:
        ready()

    worker = app.Worker(
        hostname=name,
        consumer_cls=_consumer(experiment_id, signer),
        pool="threads",
        concurrency=1,
        queues=[queue_name(experiment_id)],
        without_mingle=True,
        without_gossip=True,
        without_heartbeat=True,  # Celery's own, for its monitors; AMQP's heartbeat is another
        loglevel="WARNING",
        quiet=True,
    )
    worker.start()
    return worker.exitcode or 0


def _consumer(experiment_id: str, signer: MessageSigner) -> type[Any]:
    """Celery's consumer with a gate before it: it gets nothing but messages of jobs."""

    class JobConsumer(Consumer):  # type: ignore[misc] # its base is Any
        def create_task_handler(self, *args: Any, **kwargs: Any) -> Any:
            take = super().create_task_handler(*args, **kwargs)

            def on_message(message: Any) -> None:
                try:
                    named_job(message, experiment_id, signer)
                except RefusedMessageError as error:
                    self._drop(message, error.refusal)
                else:
                    take(message)

            return on_message

        def on_decode_error(self, message: Any, exc: Exception) -> None:
            """Called for what kombu itself cannot read."""
            self._drop(message, Refusal.UNREADABLE)

        def _drop(self, message: Any, refusal: Refusal) -> None:
            say_refused(refusal)
            message.ack_log_error(get_logger(__name__), self.connection_errors)

    return JobConsumer
