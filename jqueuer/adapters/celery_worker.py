"""Taking jobs from a queue on Celery: the worker that a container manager is."""

from __future__ import annotations

import warnings
from collections.abc import Callable

from celery import Celery
from celery.exceptions import CPendingDeprecationWarning, SecurityWarning
from celery.signals import worker_ready

from jqueuer.adapters.celery_queue import TASK_NAME, job_queue, queue_name


def take_jobs(
    app: Celery,
    experiment_id: str,
    *,
    name: str,
    handle: Callable[[str, str], object],
    ready: Callable[[], None],
) -> int:
    """Hand the experiment's jobs to ``handle`` (experiment id, job id), one after the other, until SIGTERM.

    In the main thread of a process that does nothing else; ``ready`` is called when the first job can come. A job that
    is running when SIGTERM comes is finished first. A broker that is away is waited for. Returns the exit status.
    """
    warnings.filterwarnings("ignore", category=SecurityWarning)  # about pickle, which is not accepted here
    warnings.filterwarnings("ignore", category=CPendingDeprecationWarning)  # about what the lease makes good
    app.conf.task_queues = [job_queue(experiment_id, str(app.conf.broker_url))]

    @app.task(name=TASK_NAME, shared=False)
    def run_job(experiment: str, job: str) -> None:
        handle(experiment, job)

    @worker_ready.connect(weak=False)
    def announce(**_: object) -> None:
        ready()

    worker = app.Worker(
        hostname=name,
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
