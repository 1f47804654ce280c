"""A job that a container manager was handed and has not begun goes back into the queue."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from uuid import uuid4

from jqueuer.adapters.celery_queue import CeleryJobQueue, celery_app
from jqueuer.signing import MessageSigner
from tests.contract.brokers import Broker
from tests.contract.brokers import broker as broker
from tests.contract.brokers import own_valkey as own_valkey
from tests.contract.brokers import rabbitmq as rabbitmq


def test_who_is_told_to_stop_before_it_begins_leaves_its_job_to_the_next(
    broker: Broker, tmp_path: Path, eventually: Callable[..., None]
) -> None:
    experiment_id, queue = f"put-back-{uuid4().hex[:6]}", CeleryJobQueue(celery_app(broker.url), MessageSigner(""))
    queue.publish(experiment_id, ["first", "second"])
    for turn in (1, 2):
        handed = tmp_path / f"handed-{turn}"
        command = [sys.executable, "-m", "tests.contract.reluctant_worker", broker.url, experiment_id, str(handed)]
        worker = subprocess.Popen(command)
        try:
            eventually(lambda handed=handed: handed.exists() and handed.read_text())
            worker.terminate()
            assert worker.wait(30) == 0
        finally:
            worker.kill()
            worker.wait()
        assert queue.length(experiment_id) == 2
    queue.delete(experiment_id)
