"""What holds for the API as a whole: its document, its errors, its headers, its health and metrics."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from openapi_spec_validator import validate
from prometheus_client.parser import text_string_to_metric_families

from jqueuer.adapters.redis_store import RedisContainerRegistry
from jqueuer.adapters.redis_store.connection import StoreClient
from jqueuer.adapters.valkey import ValkeyServer
from jqueuer.settings import Settings
from jqueuer.states import AttemptOutcome, ExperimentState
from jqueuer_manager.adapters.swarm import SwarmOrchestrator
from jqueuer_manager.api import create_app, pages
from jqueuer_manager.api.access import open_to_all
from jqueuer_manager.services import Services
from tests.embedded.api_manager import AS_ADMIN, Manager


def references(value: object) -> Iterator[str]:
    if isinstance(value, dict):
        yield from (target for key, target in value.items() if key == "$ref" and isinstance(target, str))
        for part in value.values():
            yield from references(part)
    elif isinstance(value, list):
        for part in value:
            yield from references(part)


def test_the_openapi_document_is_valid_and_complete(services: Services) -> None:
    """Every route is in it, every reference leads somewhere, every operation can answer with a problem."""
    app = create_app(services)
    document = app.test_client().get("/api/v1/openapi.json").get_json()
    validate(document)
    routes = {
        (re.sub(r"<(?:[^:<>]+:)?(\w+)>", r"{\1}", rule.rule), method.lower())
        for rule in app.url_map.iter_rules()
        for method in (rule.methods or set()) - {"HEAD", "OPTIONS"}
        if rule.rule != "/api/v1/openapi.json" and not rule.endpoint.startswith(f"{pages.NAME}.")
    }
    documented = {(path, method) for path, item in document["paths"].items() for method in item}
    assert documented - routes == {("/api/v1/files/{sha256}", "head")}
    assert routes <= documented
    known = {f"#/components/schemas/{name}" for name in document["components"]["schemas"]}
    assert set(references(document)) <= known
    for item in document["paths"].values():
        for operation in (operation for method, operation in item.items() if method != "head"):
            assert "application/problem+json" in operation["responses"]["default"]["content"]
    names = [operation["operationId"] for item in document["paths"].values() for operation in item.values()]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/nowhere", 404),
        ("GET", "/api/v1/experiments/nobody-aaaaaa", 404),
        ("DELETE", "/api/v1/experiments", 405),
        ("POST", "/api/v1/experiments", 415),
        ("GET", "/api/v1/experiments/..%2f..%2fetc", 404),
        ("GET", "/api/v1/experiments/A%20B", 422),
        ("GET", "/api/v1/experiments/x%0a", 422),
        ("GET", "/api/v1/experiments/" + "a" * 5000, 422),
        ("GET", "/api/v1/experiments/%00", 422),
        ("GET", "/api/v1/experiments/%ff%fe", 422),
        ("GET", "/api/v1/experiments?limit=501", 422),
        ("GET", "/api/v1/experiments?limit=0", 422),
        ("GET", "/api/v1/experiments?offset=-1", 422),
        ("GET", "/api/v1/experiments?offset=99999999999999999999999", 422),
        ("GET", "/api/v1/experiments?state=lost", 422),
        ("GET", "/api/v1/experiments?order=up", 422),
        ("GET", "/api/v1/experiments/x-aaaaaa/outputs?after=1", 422),
        ("GET", "/api/v1/experiments/x-aaaaaa/jobs/-x", 422),
        ("GET", "/api/v1/experiments/x-aaaaaa/jobs/@pre", 422),
        ("GET", "/api/v1/experiments/x-aaaaaa/journal?limit=1e9", 422),
    ],
)
def test_every_error_is_a_problem_that_says_what_was_wrong(
    manager: Manager, method: str, path: str, status: int
) -> None:
    response = manager.http.request(method, manager.url + path, timeout=10)
    assert response.status_code == status
    assert response.headers["Content-Type"] == "application/problem+json"
    body = response.json()
    assert body["status"] == status
    assert body["type"].startswith("urn:jqueuer:problem:")
    assert body["title"]
    assert body["detail"]
    if status == 422:
        assert body["faults"][0]["path"]
    if status == 405:
        assert "GET" in response.headers["Allow"]


def test_an_error_of_our_own_is_a_500_that_gives_nothing_away(services: Services) -> None:
    app = create_app(services)

    @app.route("/boom")
    @open_to_all
    def boom() -> str:
        raise RuntimeError("secret")

    response = app.test_client().get("/boom")
    assert (response.status_code, response.content_type) == (500, "application/problem+json")
    assert "secret" not in response.get_data(as_text=True)


@pytest.mark.parametrize("path", ["/healthz", "/api/v1/experiments", "/nowhere"])
def test_every_response_carries_security_headers(manager: Manager, path: str) -> None:
    headers = manager.http.get(manager.url + path, timeout=10).headers
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert "default-src 'none'" in headers["Content-Security-Policy"]
    assert headers["X-Frame-Options"] == "DENY"


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Origin": "https://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Origin": "http://["}, 403),
        ({"Origin": ""}, 403),
        ({"Sec-Fetch-Site": "cross-site"}, 403),
        ({"Sec-Fetch-Site": "same-site"}, 403),
        ({"Sec-Fetch-Site": "same-origin"}, 404),
        ({}, 404),
    ],
)
def test_pages_of_other_sites_cannot_send_commands(manager: Manager, headers: dict[str, str], status: int) -> None:
    """A browser on the manager's machine reaches its port; no other page may use it for that."""
    url = f"{manager.url}/api/v1/experiments/nobody-aaaaaa/cancel"
    assert manager.http.post(url, headers=headers, timeout=10).status_code == status


def test_the_managers_own_page_can_send_commands(manager: Manager) -> None:
    url = f"{manager.url}/api/v1/experiments/nobody-aaaaaa/cancel"
    assert manager.http.post(url, headers={"Origin": manager.url}, timeout=10).status_code == 404


def test_a_store_that_is_away_is_a_503_and_the_manager_still_alive(manager: Manager, valkey: ValkeyServer) -> None:
    valkey.stop()
    try:
        assert manager.http.get(f"{manager.url}/healthz", timeout=10).status_code == 200
        for path in ("/readyz", "/api/v1/experiments", "/api/v1/experiments/x-aaaaaa"):
            response = manager.http.get(manager.url + path, timeout=30)
            assert response.status_code == 503
            assert response.headers["Content-Type"] == "application/problem+json"
            assert int(response.headers["Retry-After"]) > 0
    finally:
        valkey.start()
    assert manager.http.get(f"{manager.url}/readyz", timeout=10).json()["status"] == "ready"


def test_an_engine_that_is_away_is_a_503_with_its_words(
    services: Services, client: StoreClient, tmp_path: Path
) -> None:
    """Only for what needs it; and nothing is left of an experiment that could not be looked at."""
    url = f"unix://{tmp_path}/no-engine.sock"
    swarm = SwarmOrchestrator(Settings(docker_url=url), RedisContainerRegistry(client), services.experiments)
    api = create_app(replace(services, orchestrator=swarm)).test_client()
    body = "name: t\nimage: busybox\njobs: [{id: a, command: ['true']}]"
    response = api.post("/api/v1/experiments", data=body, content_type="application/yaml", headers=AS_ADMIN)
    assert (response.status_code, response.content_type) == (503, "application/problem+json")
    assert int(response.headers["Retry-After"]) > 0
    assert response.get_json()["type"] == "urn:jqueuer:problem:engine-unavailable"
    assert f"the Docker engine at {url} does not answer" in response.get_json()["detail"]
    assert services.experiments.page()[1] == len(services.experiments.unfinished_receipts()) == 0
    assert api.get("/api/v1/experiments", headers=AS_ADMIN).status_code == 200


def test_metrics_count_jobs_and_containers_and_name_no_job(manager: Manager) -> None:
    experiment_id = manager.submit_jobs(3, "name: t\ndeadline: 1h")
    manager.run(experiment_id, "j0")
    manager.run(experiment_id, "j1", outcome=AttemptOutcome.FAILED)
    old = manager.submit_jobs(1)
    manager.end(old, ExperimentState.ACCOMPLISHED)
    families = {
        family.name: family
        for family in text_string_to_metric_families(manager.http.get(f"{manager.url}/metrics", timeout=10).text)
    }
    samples = [sample for family in families.values() for sample in family.samples]
    jobs = {
        sample.labels["state"]: sample.value
        for sample in families["jqueuer_jobs"].samples
        if sample.labels["experiment"] == experiment_id
    }
    assert jobs == {"queued": 1, "running": 0, "accomplished": 1, "failed": 1, "cancelled": 0}
    experiments = {sample.labels["state"]: sample.value for sample in families["jqueuer_experiments"].samples}
    assert (experiments["running"], experiments["accomplished"]) == (1, 1)
    assert not any(value.startswith("j0") for sample in samples for value in sample.labels.values())
    for name, family in families.items():
        if family.type == "counter":
            assert all(sample.name == f"{name}_total" for sample in family.samples)


def test_experiments_that_ended_long_ago_leave_the_metrics(manager: Manager, monkeypatch: pytest.MonkeyPatch) -> None:
    experiment_id = manager.submit_jobs(1)
    manager.end(experiment_id, ExperimentState.ACCOMPLISHED)
    assert experiment_id in manager.http.get(f"{manager.url}/metrics", timeout=10).text
    monkeypatch.setattr("jqueuer_manager.api.metrics.RECENT_SECONDS", 0.0)
    assert experiment_id not in manager.http.get(f"{manager.url}/metrics", timeout=10).text


def test_the_limits_are_told(manager: Manager) -> None:
    assert manager.api.limits() == {
        "max_body_bytes": 2_000_000,
        "max_input_bytes": 2_000_000,
        "max_jobs": 5000,
        "max_experiments_per_user": 1000,
        "max_page": 500,
    }
