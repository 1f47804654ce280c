"""Whatever is wrong with what is sent: a refusal that names it, never a 500, and nothing changes."""

from __future__ import annotations

import pytest
import requests

from tests.bad_input.descriptions import CASES
from tests.embedded.api_manager import LIMIT_BYTES, Manager

WAYS = {
    "json": ("/api/v1/experiments", "application/json"),
    "yaml": ("/api/v1/experiments", "application/yaml"),
    "2018": ("/experiment/add", "text/plain"),
}


def send(manager: Manager, path: str, content_type: str, body: bytes) -> requests.Response:
    return manager.http.post(manager.url + path, data=body, headers={"Content-Type": content_type}, timeout=30)


@pytest.mark.parametrize("way", WAYS)
def test_every_malformed_description_is_refused_with_its_fault_and_changes_nothing(manager: Manager, way: str) -> None:
    wrong = {}
    for name, body, said in CASES:
        response = send(manager, *WAYS[way], body)
        faults = response.json().get("faults", [])
        if response.status_code != 422 or not faults or said not in response.text:
            wrong[name] = (response.status_code, response.text[:300])
    assert wrong == {}
    assert manager.nothing_remains()


def test_every_malformed_description_is_refused_as_lines_too(manager: Manager) -> None:
    wrong = {}
    for name, body, _ in CASES:
        response = send(manager, "/api/v1/experiments", "application/x-ndjson", body)
        if response.status_code != 422 or not response.json()["faults"]:
            wrong[name] = (response.status_code, response.text[:300])
    assert wrong == {}
    assert manager.nothing_remains()


@pytest.mark.parametrize("way", WAYS)
def test_a_body_of_fifty_megabytes_is_refused_and_changes_nothing(manager: Manager, way: str) -> None:
    response = send(manager, *WAYS[way], b'{"name": "' + b"x" * 50_000_000 + b'"}')
    assert (response.status_code, response.json()["type"]) == (413, "urn:jqueuer:problem:too-large")
    assert str(LIMIT_BYTES) in response.json()["detail"]
    assert manager.nothing_remains()


def test_after_all_of_them_a_good_description_is_still_received(manager: Manager) -> None:
    """A malformed POST of 2018 could hang every later one."""
    for name, body, _ in CASES:
        assert send(manager, "/experiment/add", "text/plain", body).status_code == 422, name
    assert manager.submit_jobs(1) in manager.services.experiments.active()
