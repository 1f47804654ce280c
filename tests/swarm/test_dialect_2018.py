"""Experiments of 2018 run unchanged, against an image that has /opt/execute.sh and a service of the user's own."""

from __future__ import annotations

import json

from jqueuer import labels
from tests.swarm.conftest import Cluster

DIALECT_A = """{
    "image_url": "jqueuer-2018",
    "experiment_deadline": "5#m",
    "replica_min": "1",
    "replica_max": "3",
    "single_task_duration": "1#s",
    "params": [],
    "command": ["/opt/execute.sh"],
    "reserve_memory": "20mb",
    "reserve_cpu": "0.1",
    "jobs": {
        "count": 9, "id": "scenario", "params": [], "command": [], "data": [],
        "tasks": [
            {"id": "task_0", "data": ["town", "http://files.example/parameters.xml"],},
            {"id": "task_1", "command": ["echo"], "data": ["second"]},
        ]
    }
}"""

DIALECT_B = {
    "container_name": "users-own",
    "single_task_duration": 1,
    "experiment_deadline": 300,
    "params": [],
    "command": ["/opt/execute.sh"],
    "jobs": [{"id": f"job_{n}", "tasks": [{"id": "t", "data": [f"data-{n}"]}]} for n in range(6)],
}


def post_2018(cluster: Cluster, body: str) -> str:
    answer = cluster.http.post(f"{cluster.url}/experiment/add", data=body.encode(), timeout=30)
    assert answer.status_code in (200, 201), answer.text
    return answer.text.strip()


def test_an_experiment_of_the_papers_dialect_runs_unchanged(cluster: Cluster) -> None:
    experiment_id = post_2018(cluster, DIALECT_A)
    cluster.api.wait(experiment_id)
    ended = cluster.api.experiment(experiment_id)
    assert ended["state"] == "accomplished", ended["reason"]
    assert ended["jobs"]["accomplished"] == 9
    job = next(iter(cluster.api.jobs(experiment_id)))
    attempt = cluster.api.job(experiment_id, job["id"])["attempts"][-1]
    printed = b"".join(cluster.api.log(experiment_id, job["id"], attempt["number"], "stdout")).decode()
    worker = attempt["container"]
    assert printed == f"executed: town http://files.example/parameters.xml {worker}\nsecond {worker}\n"


def test_a_running_service_is_used_where_it_is_named_and_never_ended(cluster: Cluster) -> None:
    manager = cluster.nodes[0].docker
    spec = {
        "Name": "users-own",
        "Labels": {labels.ADOPT: "true"},
        "TaskTemplate": {"ContainerSpec": {"Image": "jqueuer-2018"}},
        "Mode": {"Replicated": {"Replicas": 2}},
        "EndpointSpec": {"Mode": "dnsrr"},
    }
    service = manager.api._result(manager.api._post_json(manager.api._url("/services/create"), data=spec), json=True)
    try:
        experiment_id = post_2018(cluster, json.dumps(DIALECT_B))
        cluster.api.wait(experiment_id)
        ended = cluster.api.experiment(experiment_id)
        assert ended["state"] == "accomplished", ended["reason"]
        assert ended["jobs"]["accomplished"] == 6
        tasks = manager.api.tasks(filters={"service": "users-own"})
        assert [task["Status"]["State"] for task in tasks] == ["running", "running"]
    finally:
        manager.api.remove_service(service["ID"])
