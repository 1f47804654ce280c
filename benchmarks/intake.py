"""What 100,000 jobs cost the manager: memory it grows by, and how long /healthz takes meanwhile.

The same jobs as a sweep and as streamed JSON Lines, each to a manager of its own, watched until all are published.
The last line is one JSON object.
"""

from __future__ import annotations

import json
import os
import statistics
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import requests

from jqueuer.client import Client
from jqueuer.embedded import Embedded
from tests.processes import descendants

JOBS = int(os.environ.get("BENCH_JOBS", "100000"))
HEAD = {"name": "intake", "containers": {"min": 0, "max": 1}, "policy": {"name": "fixed", "containers": 0}}
SWEEP = {
    **HEAD,
    "sweep": {
        "parameters": {"n": {"from": 1, "to": JOBS, "step": 1}},
        "job": {"command": ["/opt/model/run", "--scenario", "{{n}}", "--seed", "{{n}}"]},
    },
}


def lines() -> Iterator[str]:
    yield json.dumps(HEAD)
    for number in range(JOBS):
        yield json.dumps({"tasks": [{"command": ["/opt/model/run", "--scenario", f"{number}", "--seed", f"{number}"]}]})


def as_sweep(api: Client) -> str:
    return str(api.submit_bytes(json.dumps(SWEEP).encode(), "application/json")["id"])


def as_lines(api: Client) -> str:
    return str(api.submit_stream(lines())["id"])


def measure(submit: Callable[[Client], str]) -> dict[str, float]:
    # A day is long enough for a slow machine; what is measured is not how long storing takes.
    with (
        tempfile.TemporaryDirectory() as directory,
        Embedded(Path(directory)) as system,
        Client(system.url, token=system.token, timeout=86_400) as api,
    ):
        first = str(
            api.submit_bytes(json.dumps({**HEAD, "jobs": [{"command": ["true"]}]}).encode(), "application/json")["id"]
        )
        while queue_length(system, first) < 1:  # until then its processes are still loading what they need
            time.sleep(0.2)
        before = peak_bytes(system.pids["jqueuer_manager"])
        latencies: list[float] = []
        done = threading.Event()
        prober = threading.Thread(target=probe, args=(f"{system.url}/healthz", latencies, done))
        prober.start()
        started = time.monotonic()
        experiment_id = submit(api)
        accepted = time.monotonic() - started
        while queue_length(system, experiment_id) < JOBS:
            time.sleep(0.2)
        published = time.monotonic() - started
        done.set()
        prober.join()
        grown = peak_bytes(system.pids["jqueuer_manager"]) - before
        api.cancel(experiment_id)
    return {
        "grown_mb": round(grown / 1e6, 1),
        "healthz_worst_ms": round(max(latencies) * 1000, 1),
        "healthz_median_ms": round(statistics.median(latencies) * 1000, 1),
        "probes": len(latencies),
        "accepted_seconds": round(accepted, 1),
        "published_seconds": round(published, 1),
    }


def queue_length(system: Embedded, experiment_id: str) -> int:
    from jqueuer.adapters.celery_queue import queue_name
    from jqueuer.adapters.redis_store import connect

    with connect(f"unix://{system.state_dir}/store/valkey.sock?db=1") as broker:
        return sum(int(broker.llen(key)) for key in broker.keys(f"{queue_name(experiment_id)}*"))


def probe(url: str, latencies: list[float], done: threading.Event) -> None:
    with requests.Session() as session:
        while not done.wait(0.02):
            started = time.perf_counter()
            session.get(url, timeout=60).raise_for_status()
            latencies.append(time.perf_counter() - started)


def peak_bytes(manager: int) -> int:
    """Peak resident memory of the manager's processes together."""
    return sum(high_water_bytes(pid) for pid in (manager, *descendants(manager)))


def high_water_bytes(pid: int) -> int:
    status = Path(f"/proc/{pid}/status").read_text()
    return int(next(line.split()[1] for line in status.splitlines() if line.startswith("VmHWM"))) * 1024


def main() -> None:
    result: dict[str, object] = {"bench": "intake", "jobs": JOBS}
    for name, submit in (("sweep", as_sweep), ("json_lines", as_lines)):
        result[name] = measure(submit)
        print(name, result[name])
    print(json.dumps(result))


if __name__ == "__main__":
    main()
