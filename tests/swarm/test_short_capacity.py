"""Two experiments want more than the cluster has."""

from __future__ import annotations

import json
from collections.abc import Callable

from tests.swarm.conftest import Cluster
from tests.swarm.witness import Witness

Wait = Callable[[Callable[[], object], float], None]

ONE_CORE = {"cpu": {"reserve": 1.0}}


def test_an_earlier_deadline_goes_first_and_no_job_is_killed_for_it(cluster: Cluster, eventually: Wait) -> None:
    """Six cores: the first has them all, the second needs four at once; `explain` tells the first whom it waits for."""
    api = cluster.api

    def submit(name: str, containers: int, jobs: int, deadline: str) -> tuple[Witness, str]:
        witness = Witness(cluster.shared, name)
        description = witness.describe(
            jobs=jobs, seconds=5, containers=containers, resources=ONE_CORE, deadline=deadline
        )
        return witness, api.submit_bytes(json.dumps(description).encode(), "application/json")["id"]

    cores = sum(int(node.docker.info()["NCPU"]) for node in cluster.nodes)
    patient, patient_id = submit("patient", cores, 6 * cores, "1h")
    eventually(lambda: len(patient.busy_containers()) == cores, 60)
    urgent, urgent_id = submit("urgent", cores - 2, 2 * cores, "10m")
    eventually(lambda: len(urgent.busy_containers()) == cores - 2, 60)
    gave_way = [entry for entry in api.journal(patient_id) if entry["action"] == "give-way"]
    assert gave_way, api.journal(patient_id)
    assert urgent_id in gave_way[-1]["reason"]
    assert "deadline" in gave_way[-1]["reason"]
    for witness, experiment_id, jobs in ((urgent, urgent_id, 2 * cores), (patient, patient_id, 6 * cores)):
        api.wait(experiment_id)
        ended = api.experiment(experiment_id)
        assert (ended["jobs"]["accomplished"], ended["statistics"]["attempts"]) == (jobs, jobs), ended["reason"]
        assert set(witness.ended().values()) == {1}


def test_an_image_that_is_not_there_is_told_in_the_experiments_state(cluster: Cluster, eventually: Wait) -> None:
    body = {"name": "missing", "image": "no-such-image:1", "jobs": [{"command": ["true"]}]}
    experiment_id = cluster.api.submit_bytes(json.dumps(body).encode(), "application/json")["id"]
    eventually(lambda: "image" in cluster.api.experiment(experiment_id)["containers"]["problem"].lower(), 60)
    cluster.api.cancel(experiment_id)
    cluster.api.wait(experiment_id)
