"""Nodes disappear; their jobs run elsewhere, and nothing is recorded twice."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.swarm.conftest import Cluster
from tests.swarm.witness import Witness

Wait = Callable[[Callable[[], object], float], None]

JOBS = 60
CUT_SECONDS = 30


@pytest.fixture
def worker(cluster: Cluster) -> Iterator[Any]:
    """A worker node that is whole again afterwards."""
    yield cluster.nodes[2]
    cluster.mend_all()


def started(cluster: Cluster, eventually: Wait, name: str) -> tuple[Witness, str]:
    """Jobs of 4 s in six containers, two of which hold one on the worker."""
    witness = Witness(cluster.shared, name)
    body = json.dumps(witness.describe(jobs=JOBS, seconds=4, containers=6)).encode()
    experiment_id = cluster.api.submit_bytes(body, "application/json")["id"]
    eventually(lambda: len(witness.busy_containers()) == 6, 60)
    return witness, experiment_id


def jobs_on(cluster: Cluster, experiment_id: str, node: str) -> dict[str, int]:
    """Running jobs of a node, with their attempts."""
    found = {}
    for job in cluster.api.jobs(experiment_id, state="running"):
        attempt = cluster.api.job(experiment_id, job["id"])["attempts"][-1]
        if attempt["node"] == node and attempt["finished_at"] is None:
            found[job["id"]] = attempt["number"]
    return found


def begun_elsewhere(witness: Witness, lost: dict[str, int]) -> bool:
    latest = Counter[str]()
    for line in witness.lines():
        latest[line.job] = max(latest[line.job], line.attempt)
    return all(latest[job] > attempt for job, attempt in lost.items())


def every_job_is_accomplished_exactly_once(cluster: Cluster, witness: Witness, experiment_id: str) -> None:
    ended = cluster.api.experiment(experiment_id)
    assert ended["jobs"]["accomplished"] == JOBS, ended["reason"]
    for job in cluster.api.jobs(experiment_id):
        outcomes = [attempt["outcome"] for attempt in cluster.api.job(experiment_id, job["id"])["attempts"]]
        assert outcomes.count("accomplished") == 1, (job["id"], outcomes)
        assert outcomes[-1] == "accomplished"
    assert len(witness.ended()) == JOBS
    attempts = [(line.job, line.attempt) for line in witness.lines() if line.event == "begin"]
    assert len(attempts) == len(set(attempts)), "an attempt was begun twice"


def test_a_node_that_loses_power_has_its_jobs_run_elsewhere(cluster: Cluster, worker: Any, eventually: Wait) -> None:
    witness, experiment_id = started(cluster, eventually, "power-off")
    lost = jobs_on(cluster, experiment_id, worker.name)
    assert lost
    worker.power_off()
    off_at = time.monotonic()
    eventually(lambda: begun_elsewhere(witness, lost), 60)
    print(json.dumps({"fault": "power-off", "jobs_ran_elsewhere_seconds": round(time.monotonic() - off_at, 1)}))  # noqa: T201
    cluster.api.wait(experiment_id)
    every_job_is_accomplished_exactly_once(cluster, witness, experiment_id)


def test_a_node_that_is_cut_off_for_a_while_has_its_jobs_run_elsewhere_and_its_late_results_refused(
    cluster: Cluster, worker: Any, eventually: Wait
) -> None:
    witness, experiment_id = started(cluster, eventually, "cut-off")
    lost = jobs_on(cluster, experiment_id, worker.name)
    assert lost
    worker.cut()
    cut_at = time.monotonic()
    eventually(lambda: begun_elsewhere(witness, lost), 60)
    print(json.dumps({"fault": "network cut", "jobs_ran_elsewhere_seconds": round(time.monotonic() - cut_at, 1)}))  # noqa: T201
    eventually(lambda: time.monotonic() - cut_at >= CUT_SECONDS, CUT_SECONDS + 5)
    worker.mend()
    cluster.api.wait(experiment_id)
    every_job_is_accomplished_exactly_once(cluster, witness, experiment_id)
