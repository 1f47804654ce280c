"""What the manager tells Prometheus while something of it is away, and of itself."""

from __future__ import annotations

from dataclasses import replace

import requests
from prometheus_client.parser import text_string_to_metric_families

from jqueuer.adapters.celery_queue import CeleryJobQueue, celery_app
from jqueuer.adapters.redis_store.connection import StoreClient
from jqueuer.adapters.redis_store.registry import RedisContainerRegistry
from jqueuer.adapters.valkey import ValkeyServer
from jqueuer.records import ContainerStatus
from jqueuer.signing import MessageSigner
from jqueuer.states import ContainerState, ExperimentState
from jqueuer_manager.services import Services
from tests.embedded.api_manager import Manager, served
from tests.embedded.running import System

Sample = tuple[str, frozenset[tuple[str, str]]]


def told(manager: Manager) -> dict[Sample, float]:
    answer = manager.http.get(f"{manager.url}/metrics", timeout=30)
    assert answer.status_code == 200
    return values(answer.text)


def values(text: str) -> dict[Sample, float]:
    return {
        (one.name, frozenset(one.labels.items())): one.value
        for family in text_string_to_metric_families(text)
        for one in family.samples
    }


def sample(name: str, **labels: str) -> Sample:
    return name, frozenset(labels.items())


def test_without_its_store_the_manager_says_so_and_nothing_of_experiments(
    manager: Manager, valkey: ValkeyServer
) -> None:
    experiment_id = manager.submit_jobs(1)
    assert told(manager)[sample("jqueuer_store_up")] == 1
    valkey.stop()
    try:
        shown = told(manager)
    finally:
        valkey.start()
    assert shown[sample("jqueuer_store_up")] == 0
    assert not [one for one in shown if ("experiment", experiment_id) in one[1] or one[0] == "jqueuer_experiments"]
    assert "jqueuer_build_info" in {name for name, _ in shown}


def test_without_its_broker_the_manager_says_so_and_nothing_of_queues(services: Services) -> None:
    away = CeleryJobQueue(celery_app("redis://127.0.0.1:1/0"), MessageSigner(""))
    with served(replace(services, queue=away)) as manager:
        manager.submit_jobs(1)
        shown = told(manager)
    assert shown[sample("jqueuer_broker_up")] == 0
    assert shown[sample("jqueuer_store_up")] == 1
    assert "jqueuer_queue_messages" not in {name for name, _ in shown}


def test_messages_that_wait_are_counted(manager: Manager) -> None:
    experiment_id = manager.submit_jobs(3)
    manager.services.queue.publish(experiment_id, ["j0", "j1"])
    shown = told(manager)
    assert shown[sample("jqueuer_broker_up")] == 1
    assert shown[sample("jqueuer_queue_messages", experiment=experiment_id)] == 2


def test_wrong_tokens_are_counted(manager: Manager) -> None:
    before = told(manager)[sample("jqueuer_refused_logins_total")]
    for _ in range(3):
        headers = {"Authorization": "Bearer jq_wrong"}
        assert requests.get(f"{manager.url}/api/v1/experiments", headers=headers, timeout=10).status_code == 401
    assert told(manager)[sample("jqueuer_refused_logins_total")] == before + 3


def test_containers_of_all_experiments_are_counted_by_node(manager: Manager, client: StoreClient) -> None:
    registry = RedisContainerRegistry(client)
    for number, node in enumerate(("n1.example.org", "n1.example.org", "n2")):
        experiment_id = manager.submit_jobs(1)
        registry.request(experiment_id, 1)
        status = ContainerStatus(id=f"c{number}", node=node, state=ContainerState.IDLE, started_at=0.0)
        registry.observe(experiment_id, status)
    shown = told(manager)
    assert shown[sample("jqueuer_node_containers", node="n1_example_org", state="idle")] == 2
    assert shown[sample("jqueuer_node_containers", node="n2", state="idle")] == 1
    assert shown[sample("jqueuer_node_containers", node="n2", state="busy")] == 0


def test_a_forecast_is_told_while_jobs_are_left(manager: Manager) -> None:
    experiment_id = manager.submit_jobs(5, "name: t\ndeadline: 1h")
    shown = told(manager)
    finish = [
        shown[sample("jqueuer_forecast_finish_timestamp_seconds", experiment=experiment_id, percentile=percentile)]
        for percentile in ("p50", "p80", "p95")
    ]
    assert finish == sorted(finish)
    assert 0 <= shown[sample("jqueuer_forecast_deadline_probability", experiment=experiment_id)] <= 1
    manager.end(experiment_id, ExperimentState.CANCELLED)
    assert "jqueuer_forecast_deadline_probability" not in {name for name, _ in told(manager)}


def test_open_requests_are_counted_by_kind(system: System) -> None:
    token = {"Authorization": f"Bearer {system.embedded.token}"}
    shown = values(requests.get(f"{system.embedded.url}/metrics", headers=token, timeout=10).text)
    assert shown[sample("jqueuer_open_requests", kind="question")] >= 1, "this one"
    assert shown[sample("jqueuer_open_requests", kind="transfer")] == 0
