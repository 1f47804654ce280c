"""Jobs per second of the embedded system: many jobs of ``/bin/true`` in two local containers, end to end.

Every round measures the spawn floor (``xargs -P``) beside it. Progress goes to stderr; the last line on stdout is one
JSON object. ``BENCH_PEERS=1`` also installs and measures other systems.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

from benchmarks.peer_runs import measure_peers
from jqueuer.adapters.valkey import FSYNC_POLICY
from jqueuer.client import Client
from jqueuer.embedded import Embedded


def description(jobs, containers):
    return {
        "name": "bench-local",
        "containers": {"min": containers, "max": containers},
        "policy": {"name": "fixed", "containers": containers},
        "sweep": {
            "parameters": {"number": {"from": 1, "to": jobs, "step": 1}},
            "job": {"id": "true-{{number}}", "command": ["/bin/true"]},
        },
    }


def spawn_floor(jobs, workers):
    """Processes per second that this machine starts and reaps, with nothing around them."""
    lines = "".join(f"{number}\n" for number in range(jobs))
    started = time.perf_counter()
    subprocess.run(["xargs", "-P", str(workers), "-n", "1", "/bin/true"], input=lines, text=True, check=True)
    return jobs / (time.perf_counter() - started)


def one_round(client, jobs, containers):
    """(end to end, drain only) jobs per second.

    End to end is from the submission to the last outcome recorded, container start included; drain only from the start
    of the first job to that moment.
    """
    body = json.dumps(description(jobs, containers)).encode()
    submitted = time.time()
    answer = client.submit_bytes(body, "application/json")
    ended = client.wait(answer["id"])
    if ended["jobs"]["accomplished"] != jobs or ended["statistics"]["attempts"] != jobs:
        sys.exit(f"{ended['jobs']['accomplished']} of {jobs} jobs accomplished: {ended['reason'] or ended['jobs']}")
    found = list(client.jobs(answer["id"]))
    last = max(job["finished_at"] for job in found)
    return jobs / (last - submitted), jobs / (last - min(job["started_at"] for job in found))


def measure(jobs, containers, rounds):
    rates, drains, floors = [], [], []
    with (
        tempfile.TemporaryDirectory(prefix="bench-local-") as folder,
        Embedded(Path(folder)) as system,
        Client(system.url, token=system.token) as client,
    ):
        for number in range(1, rounds + 1):
            floors.append(spawn_floor(jobs, containers))
            rate, drain = one_round(client, jobs, containers)
            rates.append(rate)
            drains.append(drain)
            print(
                f"round {number}: {rate:.0f} jobs/s end to end, {drain:.0f} drained, spawn floor {floors[-1]:.0f}",
                file=sys.stderr,
            )
    return {
        "bench": "local",
        "jobs_per_second": round(median(rates), 1),
        "drain_per_second": round(median(drains), 1),
        "spawn_floor_per_second": round(median(floors), 1),
        "jobs": jobs,
        "containers": containers,
        "rounds": rounds,
        "appendfsync": FSYNC_POLICY,
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", type=int, default=2000)
    parser.add_argument("--containers", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    print(f"append-only file on, appendfsync {FSYNC_POLICY}", file=sys.stderr)
    result = measure(options.jobs, options.containers, options.rounds)
    peers = os.environ.get("BENCH_PEERS") == "1"
    result["peers"] = measure_peers(options.jobs, options.containers, options.rounds) if peers else {}
    print(json.dumps(result))


if __name__ == "__main__":
    main()
