"""Whatever bytes come to the manager's port: each case has its one answer, and nobody's work suffers."""

from __future__ import annotations

import json
from urllib.parse import urlsplit

import pytest

from tests.bad_input.http_requests import CASES, Case
from tests.bad_input.raw import Target
from tests.embedded.running import System

pytestmark = pytest.mark.usefixtures("nothing_lost")


@pytest.fixture(scope="module")
def target(system: System) -> Target:
    experiment_id = system.submit(
        "jobs: [{id: a, outputs: [o.txt], command: {shell: 'printf 0123456789; printf out > o.txt'}}]"
    )
    system.api.wait(experiment_id, poll_seconds=0.05)
    attempt = f"/api/v1/experiments/{experiment_id}/jobs/a/attempts/1"
    parts = urlsplit(system.embedded.url)
    return Target(
        (str(parts.hostname), int(parts.port or 0)),
        {
            b"@TOKEN@": system.embedded.token.encode(),
            b"@LOG@": f"{attempt}/stdout".encode(),
            b"@OUTPUT@": f"{attempt}/outputs/o.txt".encode(),
        },
    )


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_it_gets_its_stated_answer(target: Target, case: Case) -> None:
    answer = target.ask(case.sent, breaks_off=case.breaks_off)
    assert (answer.status, case.said in answer.head + answer.body.decode("latin-1")) == (case.status, True), answer
    if answer.status >= 400 and "application/problem+json" in answer.head:
        assert json.loads(answer.body)["status"] == answer.status
        assert len(answer.body) < 2000
    elif answer.status >= 400:  # gunicorn's own, before any of it was understood
        assert b"<script" not in answer.body.lower()
        assert "Connection: close" in answer.head


def test_afterwards_the_manager_answers_as_ever(system: System) -> None:
    assert system.run("jobs: [{command: ['true']}]")["state"] == "accomplished"
