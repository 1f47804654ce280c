"""Input files: sent under their checksum, and asked for before an experiment is accepted."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from jqueuer.client import ClientError
from tests.embedded.api_manager import LIMIT_BYTES, Manager

CONTENT = b"1,2,3\n" * 1000
SHA256 = hashlib.sha256(CONTENT).hexdigest()


def test_a_file_is_sent_once(manager: Manager, tmp_path: Path) -> None:
    path = tmp_path / "data.csv"
    path.write_bytes(CONTENT)
    assert not manager.api.has_input(SHA256)
    assert manager.api.upload_input(path) == SHA256
    assert manager.api.has_input(SHA256)
    url = f"{manager.url}/api/v1/files/{SHA256}"
    assert manager.http.put(url, data=CONTENT, timeout=10).status_code == 200
    manager.services.artifacts.fetch_input(SHA256, tmp_path / "copy")
    assert (tmp_path / "copy").read_bytes() == CONTENT


def test_content_that_does_not_match_its_checksum_is_refused(manager: Manager) -> None:
    response = manager.http.put(f"{manager.url}/api/v1/files/{SHA256}", data=CONTENT + b"x", timeout=10)
    assert response.status_code == 422
    assert SHA256 in response.json()["detail"]
    assert not manager.api.has_input(SHA256)


def test_a_file_beyond_the_limit_is_refused_however_it_comes(manager: Manager, tmp_path: Path) -> None:
    def chunks() -> Iterator[bytes]:
        for _ in range(2 * LIMIT_BYTES // 50_000):
            yield b"." * 50_000

    url = f"{manager.url}/api/v1/files/{SHA256}"
    assert manager.http.put(url, data=chunks(), timeout=10).status_code == 413
    assert manager.http.put(url, data=b"." * (LIMIT_BYTES + 1), timeout=10).status_code == 413
    assert [path for path in (tmp_path / "artifacts").rglob("*") if path.is_file()] == []


@pytest.mark.parametrize("name", ["0" * 63, "g" * 64, SHA256.upper(), "..%2f..%2fetc%2fpasswd"])
def test_a_name_that_is_no_checksum_is_refused(manager: Manager, name: str) -> None:
    assert manager.http.put(f"{manager.url}/api/v1/files/{name}", data=b"", timeout=10).status_code in {404, 422}


@pytest.mark.parametrize("sha256", [None, "0" * 64])
def test_missing_inputs_are_all_named_and_nothing_is_kept(manager: Manager, sha256: str | None) -> None:
    def file(path: str) -> dict[str, str | None]:
        return {"path": path, **({"sha256": sha256} if sha256 else {})}

    body = {
        "inputs": [file("all.csv")],
        "post": {"command": ["true"], "inputs": [file("post.py")]},
        "jobs": [{"id": "a", "tasks": [{"command": ["true"]}]}],
    }
    with pytest.raises(ClientError) as caught:
        manager.api.submit_bytes(json.dumps(body).encode(), "application/json")
    assert caught.value.status == 422
    assert [fault.path for fault in caught.value.faults] == ["inputs[0]", "post.inputs[0]"]
    assert all("/api/v1/files/" in fault.message for fault in caught.value.faults)
    assert "all.csv" in caught.value.faults[0].message
    assert manager.nothing_remains()


def test_a_job_whose_input_is_missing_is_named_with_its_line(manager: Manager, tmp_path: Path) -> None:
    path = tmp_path / "data.csv"
    path.write_bytes(CONTENT)
    manager.api.upload_input(path)

    def job(name: str, sha256: str) -> str:
        inputs = [{"path": "data.csv", "sha256": sha256}]
        return json.dumps({"id": name, "tasks": [{"command": ["true"]}], "inputs": inputs})

    with pytest.raises(ClientError) as caught:
        manager.api.submit_stream(["{}", job("a", SHA256), job("b", "0" * 64)])
    assert [(fault.path, fault.line) for fault in caught.value.faults] == [("jobs[1].inputs[0]", 3)]
    assert manager.nothing_remains()
    assert manager.api.submit_stream(["{}", job("a", SHA256)])["jobs"] == 1
