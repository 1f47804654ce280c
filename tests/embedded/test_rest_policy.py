"""A policy of the user's own, behind a URL (paper §III-A), asked by the running system."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from tests.embedded.running import System

Wait = Callable[..., None]


@dataclass
class PolicyService:
    """Answers with a number of containers, or with whatever else a test wants."""

    status: int = 200
    answer: bytes = b'{"containers": 2, "reason": "two feel right"}'
    requests: list[dict[str, Any]] = field(default_factory=list)
    url: str = ""


@pytest.fixture
def policy_service() -> Iterator[PolicyService]:
    service = PolicyService()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            service.requests.append(json.loads(body))
            self.send_response(service.status)
            self.send_header("Content-Length", str(len(service.answer)))
            self.end_headers()
            self.wfile.write(service.answer)

        def log_message(self, *_: object) -> None: ...

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    service.url = f"http://127.0.0.1:{server.server_port}/policy"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield service
    server.shutdown()
    thread.join()
    server.server_close()


def description(url: str) -> str:
    return f"""
        containers: {{min: 1, max: 3}}
        policy: {{url: "{url}", timeout: 2s, period: 200ms, fallback: fixed}}
        jobs:
        - {{id: a, command: [sleep, "1.5"]}}
        - {{id: b, command: [sleep, "1.5"]}}
        - {{id: c, command: [sleep, "1.5"]}}
        """


def test_its_answer_decides_and_its_reason_is_journalled(
    system: System, policy_service: PolicyService, eventually: Wait
) -> None:
    experiment_id = system.submit(description(policy_service.url))
    eventually(lambda: system.containers(experiment_id)["busy"] == 2)
    system.api.wait(experiment_id, poll_seconds=0.05)
    assert system.api.summary(experiment_id)["peak_containers"] == 2
    assert any("two feel right" in entry["reason"] for entry in system.api.journal(experiment_id))
    asked = policy_service.requests[0]
    assert (asked["experiment_id"], asked["minimum"], asked["maximum"]) == (experiment_id, 1, 3)
    assert asked["jobs"]["left"] == 3


def test_while_it_fails_the_fall_back_decides_and_says_so(system: System, policy_service: PolicyService) -> None:
    policy_service.status, policy_service.answer = 500, b"oops"
    summary = system.run(description(policy_service.url))
    assert summary["state"] == "accomplished"
    reasons = " ".join(entry["reason"] for entry in system.api.journal(summary["experiment_id"]))
    assert "it answered with status 500" in reasons
