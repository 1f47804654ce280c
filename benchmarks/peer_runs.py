"""The same jobs on other systems: installed into a temporary environment, each run by its script in ``peers/``."""

import json
import os
import subprocess
import sys
import tempfile
import venv
from pathlib import Path
from statistics import median

from jqueuer.adapters.valkey import ValkeyServer

SCRIPTS = Path(__file__).parent / "peers"
PEERS = {
    "celery": ("celery_bare.py", ["celery[redis]"]),
    "dask": ("dask_cluster.py", ["distributed"]),
    "huey": ("huey_queue.py", ["huey[redis]"]),
    "dramatiq": ("dramatiq_broker.py", ["dramatiq[redis]"]),
    "hyperqueue": ("hyperqueue_cluster.py", ["hyperqueue"]),
}
INSTALL_SECONDS = 300
RUN_SECONDS = 300


class PeerError(Exception):
    """A peer could not be installed or did not finish; the message says why."""


def measure_peers(jobs, workers, rounds):
    """Jobs per second of each peer, the median of the rounds; None, with the reason on stderr, where there is none."""
    with tempfile.TemporaryDirectory(prefix="bench-peers-") as folder:
        venv.create(folder, with_pip=True)
        python = Path(folder) / "bin" / "python"
        return {name: measure(name, python, jobs, workers, rounds) for name in PEERS}


def measure(name, python, jobs, workers, rounds):
    script, packages = PEERS[name]
    try:
        call([python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *packages], INSTALL_SECONDS)
        rates = [one_round(python, SCRIPTS / script, jobs, workers) for _ in range(rounds)]
    except PeerError as error:
        print(f"{name}: not measured: {error}", file=sys.stderr)
        return None
    print(f"{name}: {', '.join(f'{rate:.0f}' for rate in rates)} jobs/s", file=sys.stderr)
    return round(median(rates), 1)


def one_round(python, script, jobs, workers):
    """A fresh server for each: the same kind, with the same persistence, as ours."""
    with tempfile.TemporaryDirectory(prefix="bench-store-") as folder, ValkeyServer(Path(folder)) as server:
        environment = {**os.environ, "PEER_SOCKET": str(server.socket)}
        printed = call([python, script, str(jobs), str(workers)], RUN_SECONDS, environment)
    measured = json.loads(printed.splitlines()[-1])
    return measured["jobs"] / measured["seconds"]


def call(command, seconds, environment=None):
    try:
        ended = subprocess.run(command, capture_output=True, text=True, timeout=seconds, env=environment)
    except subprocess.TimeoutExpired:
        raise PeerError(f"no end within {seconds} s") from None
    if ended.returncode != 0:
        words = (ended.stderr or ended.stdout).strip().splitlines()
        raise PeerError(words[-1] if words else f"exit code {ended.returncode}")
    return ended.stdout
