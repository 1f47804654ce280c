"""How long reads take while many look and some submit: 200 clients, one read a second each, while 20 submit.

Each of those who submit hands in an experiment of 100 jobs, looks after it for five seconds, cancels it, and hands in
the next. Reads are what pages and terminals ask: the list, one experiment, its summary, a page of its jobs, a journal.
The clients are processes of their own; both share the cores with the manager. The last line is one JSON object.
"""

from __future__ import annotations

import http.client
import json
import multiprocessing
import os
import random
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from multiprocessing.queues import SimpleQueue
from pathlib import Path
from statistics import quantiles
from urllib.parse import urlsplit

from jqueuer.client import Client
from jqueuer.embedded import Embedded
from jqueuer.errors import JQueuerError

READERS = 200
SUBMITTERS = 20
SECONDS = float(os.environ.get("BENCH_SECONDS", "60"))
_BETWEEN_SUBMISSIONS_SECONDS = 5.0
_DESCRIPTION = {
    "name": "clients",
    "deadline": "1h",
    "containers": {"min": 0, "max": 4},
    "policy": {"name": "fixed", "containers": 0},  # what is measured is the manager, not the jobs
    "sweep": {"parameters": {"n": {"from": 1, "to": 100, "step": 1}}, "job": {"command": ["true"]}},
}
_PATHS = ("", "/{id}", "/{id}/summary", "/{id}/jobs?limit=50", "/{id}/journal")
_PREFIX = "/api/v1/experiments"

Found = tuple[list[float], Counter[str]]
"""Seconds of each request, and how often it was answered with what."""


def main() -> None:
    with (
        tempfile.TemporaryDirectory(prefix="bench-clients-") as directory,
        Embedded(Path(directory)) as system,
        Client(system.url, token=system.token) as api,
    ):
        looked_at = [_submit(api) for _ in range(5)]
        reads, read_answers, submissions, submission_answers = _measure(system, looked_at)
    line = {
        "bench": "clients",
        "seconds": SECONDS,
        "reads": _summary(reads, read_answers),
        "submissions": _summary(submissions, submission_answers),
    }
    print(json.dumps(line))


def _submit(api: Client) -> str:
    return str(api.submit_bytes(json.dumps(_DESCRIPTION).encode(), "application/json")["id"])


def _measure(system: Embedded, looked_at: list[str]) -> tuple[list[float], Counter[str], list[float], Counter[str]]:
    context = multiprocessing.get_context("spawn")
    answers = context.SimpleQueue()
    readers = context.Process(target=_read_all, args=(system.url, system.token, looked_at, answers))
    submitters = context.Process(target=_submit_all, args=(system.url, system.token, answers))
    for process in (readers, submitters):
        process.start()
    found: dict[str, Found] = dict(answers.get() for _ in range(2))
    for process in (readers, submitters):
        process.join()
    return *found["reads"], *found["submissions"]


def _summary(seconds: list[float], answers: Counter[str]) -> dict[str, object]:
    marks = quantiles(seconds, n=1000, method="inclusive")
    return {
        "requests": len(seconds),
        "errors": sum(count for answer, count in answers.items() if answer not in ("200", "201")),
        "answers": dict(answers),
        "p50_ms": round(1000 * marks[499], 1),
        "p99_ms": round(1000 * marks[989], 1),
        "worst_ms": round(1000 * max(seconds), 1),
    }


def _read_all(url: str, token: str, experiments: list[str], found: SimpleQueue[tuple[str, Found]]) -> None:
    found.put(("reads", _together(READERS, lambda number, end: _reader(number, end, url, token, experiments))))


def _submit_all(url: str, token: str, found: SimpleQueue[tuple[str, Found]]) -> None:
    found.put(("submissions", _together(SUBMITTERS, lambda number, end: _submitter(number, end, url, token))))


def _together(count: int, work: Callable[[int, float], Found]) -> Found:
    """What ``count`` clients found, each given its number and when to end."""
    end = time.monotonic() + SECONDS
    with ThreadPoolExecutor(count) as clients:
        results = list(clients.map(lambda number: work(number, end), range(count)))
    answers: Counter[str] = Counter()
    for _, counted in results:
        answers += counted
    return [one for seconds, _ in results for one in seconds], answers


def _reader(number: int, end: float, url: str, token: str, experiments: list[str]) -> Found:
    chance, seconds, answers = random.Random(number), [], Counter[str]()
    address = urlsplit(url)
    connection = http.client.HTTPConnection(address.hostname or "", address.port, timeout=30)
    time.sleep(chance.random())  # not all at the same moment
    while (begun := time.monotonic()) < end:
        path = _PREFIX + chance.choice(_PATHS).format(id=chance.choice(experiments))
        answers[_get(connection, path, token)] += 1
        took = time.monotonic() - begun
        seconds.append(took)
        time.sleep(max(0.0, 1 - took))
    return seconds, answers


def _get(connection: http.client.HTTPConnection, path: str, token: str) -> str:
    try:
        connection.request("GET", path, headers={"Authorization": f"Bearer {token}"})
        with connection.getresponse() as response:
            response.read()
            return str(response.status)
    except OSError as error:
        connection.close()
        return type(error).__name__


def _submitter(number: int, end: float, url: str, token: str) -> Found:
    seconds, answers = [], Counter[str]()
    time.sleep(_BETWEEN_SUBMISSIONS_SECONDS * number / SUBMITTERS)
    with Client(url, token=token) as api:
        while (begun := time.monotonic()) < end:
            try:
                experiment_id = _submit(api)
            except JQueuerError as error:
                answers[type(error).__name__] += 1
            else:
                answers["201"] += 1
                seconds.append(time.monotonic() - begun)
                time.sleep(_BETWEEN_SUBMISSIONS_SECONDS)
                api.cancel(experiment_id)
    return seconds, answers


if __name__ == "__main__":
    main()
