"""Nothing that somebody writes to the broker makes a worker do anything, or keeps it from the next job."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from jqueuer.adapters.celery_queue import CeleryJobQueue, celery_app
from jqueuer.adapters.job_messages import Refusal
from tests.contract import forging
from tests.contract.brokers import Broker
from tests.contract.brokers import broker as broker
from tests.contract.brokers import own_valkey as own_valkey
from tests.contract.brokers import rabbitmq as rabbitmq
from tests.contract.forged_messages import EXPERIMENT, SIGNER, forged_messages
from tests.contract.queue_workers import Workers, started
from tests.contract.queue_workers import workers as workers

Eventually = Callable[[Callable[[], object], float], None]


def refusals(log: Path) -> Counter[str]:
    """What a worker said of what it refused."""
    found = (json.loads(line) for line in log.read_text().splitlines() if line.startswith("{"))
    return Counter(line["why"] for line in found if "refused" in line["event"])


def test_forged_messages_are_dropped_and_the_next_job_is_run(
    broker: Broker, workers: Workers, tmp_path: Path, eventually: Eventually
) -> None:
    queue, trap = CeleryJobQueue(celery_app(broker.url), SIGNER), tmp_path / "trap"
    queue.delete(EXPERIMENT)
    count = forging.put(broker, EXPERIMENT, list(forged_messages(trap)))
    assert queue.length(EXPERIMENT) == count
    queue.publish(EXPERIMENT, ["real"])
    events = workers.start(broker.url, EXPERIMENT)
    eventually(lambda: "ended real" in events.read_text(), 60)
    eventually(lambda: queue.length(EXPERIMENT) == 0, 10)
    queue.publish(EXPERIMENT, ["last"])
    eventually(lambda: "ended last" in events.read_text(), 10)
    assert started(events) == ["real", "last"]
    assert not trap.exists()
    assert workers.processes[0].poll() is None
    log = events.parent / "log"
    assert refusals(log) == Counter(refusal.value for refusal in Refusal), "each kind is said, and said once"
    assert EXPERIMENT not in log.read_text()
    assert "Traceback" not in log.read_text()
    workers.end()
    assert queue.length(EXPERIMENT) == 0, "nothing comes back"
