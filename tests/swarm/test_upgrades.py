"""A node is drained, the stack is updated, the manager dies and comes back: no job is killed."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any

from jqueuer import labels
from tests.swarm.conftest import Cluster
from tests.swarm.witness import Witness

Wait = Callable[[Callable[[], object], float], None]


def running(cluster: Cluster, eventually: Wait, name: str, *, jobs: int, seconds: int = 20) -> tuple[Witness, str]:
    witness = Witness(cluster.shared, name)
    body = json.dumps(witness.describe(jobs=jobs, seconds=seconds, containers=6)).encode()
    experiment_id = cluster.api.submit_bytes(body, "application/json")["id"]
    eventually(lambda: len(witness.busy_containers()) == 6, 60)
    return witness, experiment_id


def no_job_was_killed(cluster: Cluster, witness: Witness, experiment_id: str, jobs: int) -> None:
    ended = cluster.api.experiment(experiment_id)
    assert (ended["jobs"]["accomplished"], ended["statistics"]["attempts"]) == (jobs, jobs), ended["reason"]
    assert set(witness.begun().values()) == set(witness.ended().values()) == {1}


def test_draining_a_node_lets_its_jobs_finish(cluster: Cluster, eventually: Wait) -> None:
    witness, experiment_id = running(cluster, eventually, "node-drain", jobs=24)
    worker = cluster.nodes[1]
    cluster.set_availability(worker, "drain")
    try:
        eventually(lambda: not worker.docker.containers.list(), 90)
        cluster.api.wait(experiment_id)
    finally:
        cluster.set_availability(worker, "active")
        cluster.wait_ready()
    no_job_was_killed(cluster, witness, experiment_id, 24)


def test_a_rolling_upgrade_of_the_stack_kills_no_job(cluster: Cluster, eventually: Wait) -> None:
    """Agents, manager, broker and store are replaced one after the other in mid-run."""
    witness, experiment_id = running(cluster, eventually, "upgrade", jobs=30)
    for service in ("agent", "manager", "rabbitmq", "redis"):
        cluster.roll(service)
    cluster.api.wait(experiment_id)
    no_job_was_killed(cluster, witness, experiment_id, 30)


def test_a_manager_that_is_killed_takes_over_what_it_finds(cluster: Cluster, eventually: Wait) -> None:
    witness, experiment_id = running(cluster, eventually, "manager-kill", jobs=60, seconds=2)
    killed_at = time.time()
    cluster.kill_manager()

    def controlled_again() -> Any:
        try:
            return cluster.api.change_limits(experiment_id, maximum=4)
        except Exception:
            return None

    eventually(controlled_again, 60)
    eventually(lambda: cluster.api.experiment(experiment_id)["containers"]["requested"] == 4, 60)
    entries = cluster.api.journal(experiment_id)
    resumed = min(entry["at"] for entry in entries if entry["at"] > killed_at)
    print(json.dumps({"fault": "manager killed", "control_resumed_seconds": round(resumed - killed_at, 1)}))  # noqa: T201
    services = cluster.nodes[0].docker.services.list(filters={"label": f"{labels.EXPERIMENT}={experiment_id}"})
    assert len(services) == 1
    cluster.api.wait(experiment_id)
    ended = cluster.api.experiment(experiment_id)
    assert ended["jobs"]["accomplished"] == 60, ended["reason"]
    assert len(witness.ended()) == 60
