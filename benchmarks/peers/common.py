"""What the peers that queue through Valkey have in common: a counter of finished jobs, and the stopwatch."""

import contextlib
import json
import os
import subprocess
import sys
import time

import redis

SOCKET = os.environ["PEER_SOCKET"]
START_SECONDS = 30
DRAIN_SECONDS = 120


def work():
    """One job: the command, then one more on the counter by which the stopwatch knows the end."""
    subprocess.run(["/bin/true"], check=True)
    client.incr("finished")


client = redis.Redis(unix_socket_path=SOCKET, db=0)


def measure(send, worker_command):
    """Start the workers, warm them up with one job, then time the rest from the first message to the last outcome."""
    count = int(sys.argv[1])
    with running([sys.executable, "-m", *worker_command]):
        send()
        wait_for(1, START_SECONDS)
        started = time.perf_counter()
        for _ in range(count):
            send()
        wait_for(count + 1, DRAIN_SECONDS)
        report(count, time.perf_counter() - started)


@contextlib.contextmanager
def running(command):
    here = os.path.dirname(os.path.abspath(__file__))
    worker = subprocess.Popen(command, cwd=here, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        yield
    finally:
        worker.terminate()
        try:
            worker.wait(15)
        except subprocess.TimeoutExpired:
            worker.kill()
            worker.wait()


def wait_for(finished, seconds):
    limit = time.monotonic() + seconds
    while int(client.get("finished") or 0) < finished:
        if time.monotonic() > limit:
            sys.exit(f"only {int(client.get('finished') or 0)} of {finished} jobs were done after {seconds} s")
        time.sleep(0.01)


def report(count, seconds):
    print(json.dumps({"jobs": count, "seconds": round(seconds, 3)}))
