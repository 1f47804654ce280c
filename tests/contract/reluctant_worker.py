"""A process that begins no job: ``python -m tests.contract.reluctant_worker URL EXPERIMENT FILE``.

It creates the file when it is handed one, and puts the job back once it is told to stop.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

from jqueuer.adapters.celery_queue import celery_app
from jqueuer.adapters.celery_worker import NotBegunError, take_jobs, told_to_stop
from jqueuer.signing import MessageSigner


def main() -> None:
    url, experiment_id, file = sys.argv[1:]

    def handle(experiment: str, job: str) -> None:
        Path(file).write_text(job)
        while not told_to_stop():
            time.sleep(0.01)
        raise NotBegunError

    status = take_jobs(
        celery_app(url), experiment_id, MessageSigner(""), name="reluctant@test", handle=handle, ready=lambda: None
    )
    os._exit(status)


if __name__ == "__main__":
    main()
