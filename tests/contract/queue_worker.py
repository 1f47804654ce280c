"""A process that takes jobs as a container manager does: ``python -m tests.contract.queue_worker URL EXPERIMENT DIR``.

It writes what it does into ``DIR/events``, a line each; a job whose id begins with ``hold`` lasts until there is a file
of its name in DIR. AMQP's heartbeat can be given in seconds as a fourth argument. Messages have to be signed with KEY.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

from jqueuer.adapters.celery_queue import celery_app
from jqueuer.adapters.celery_worker import take_jobs
from jqueuer.logs import configure_logging
from jqueuer.signing import MessageSigner

KEY = "the agents' own"


def main() -> None:
    configure_logging()
    url, experiment_id, directory = sys.argv[1], sys.argv[2], Path(sys.argv[3])
    app = celery_app(url)
    if len(sys.argv) > 4:
        app.conf.broker_heartbeat = float(sys.argv[4])

    def event(text: str) -> None:
        with (directory / "events").open("a") as events:
            events.write(f"{text}\n")

    def handle(experiment: str, job: str) -> None:
        event(f"started {job}")
        while job.startswith("hold") and not (directory / job).exists():
            time.sleep(0.01)
        event(f"ended {job}")

    status = take_jobs(
        app, experiment_id, MessageSigner(KEY), name="worker@test", handle=handle, ready=lambda: event("ready")
    )
    os._exit(status)


if __name__ == "__main__":
    main()
