"""Whatever jobs write, it is kept as stated, served so that no browser and no terminal obeys it, and others go on."""

from __future__ import annotations

import hashlib
import json
import os
import pty
import subprocess
import sys
from pathlib import Path
from urllib.parse import unquote

import pytest
import requests

from tests.bad_input.commands import CASES, ESCAPES, Case, Check
from tests.embedded.running import System

pytestmark = pytest.mark.usefixtures("nothing_lost")


@pytest.fixture(scope="module")
def experiment_id(system: System) -> str:
    """All cases in one container, one after the other."""
    description = {
        "containers": {"max": 1},
        "timeout": "20s",
        "on_failure": "cancel",
        "jobs": [{**case.job(), **({"timeout": "500ms"} if case.outcome == "timed-out" else {})} for case in CASES],
    }
    experiment_id = system.submit(json.dumps(description))
    system.api.wait(experiment_id, poll_seconds=0.2)
    return experiment_id


def fetch(system: System, href: str) -> requests.Response:
    token = {"Authorization": f"Bearer {system.embedded.token}"}
    response = requests.get(system.embedded.url + href, headers=token, timeout=60)
    assert response.status_code == 200, response.text
    assert response.headers["X-Content-Type-Options"] == "nosniff"
    assert "default-src 'none'" in response.headers["Content-Security-Policy"]
    return response


def matches(expected: bytes | Check, found: bytes) -> bool:
    return expected(found) if callable(expected) else expected == found


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_it_ends_as_stated_and_is_kept_as_stated(system: System, experiment_id: str, case: Case) -> None:
    (attempt,) = system.attempts(experiment_id, case.name)
    assert (attempt["outcome"], case.reason in attempt["reason"]) == (case.outcome, True), attempt["reason"]
    assert attempt["reason"].isprintable()
    for stream, expected in (("stdout", case.stdout), ("stderr", case.stderr)):
        response = fetch(system, attempt[stream]["href"])
        assert response.headers["Content-Type"] == "text/plain; charset=utf-8"
        assert matches(expected, response.content), response.content[:300]
        assert attempt[stream]["total_bytes"] >= len(response.content) - 200
    assert attempt["stdout"]["truncated"] == case.truncated
    if case.outputs:
        assert [output["path"] for output in attempt["outputs"]] == [path for path, _ in case.outputs]
    for output, (path, content) in zip(attempt["outputs"], case.outputs, strict=False):
        response = fetch(system, output["href"])
        assert response.headers["Content-Type"] == "application/octet-stream"
        disposition = response.headers["Content-Disposition"]
        assert disposition.startswith("attachment; filename*=UTF-8''")
        assert unquote(disposition.partition("''")[2]) == path.rsplit("/", 1)[-1]
        assert matches(content, response.content), response.content[:300]
        assert len(response.content) == output["size_bytes"]
        assert hashlib.sha256(response.content).hexdigest() == output["sha256"]


def print_log(system: System, experiment_id: str, job: str, stdout: int) -> None:
    command = [Path(sys.executable).with_name("jqueuer"), "logs", experiment_id, job]
    subprocess.run(command, env=os.environ | system.environment, stdout=stdout, check=True)


def test_a_terminal_is_shown_no_escape_sequence(system: System, experiment_id: str) -> None:
    """What a job prints must not clear the screen of who looks at it, set its title, or type for its user."""
    master, slave = pty.openpty()
    try:
        print_log(system, experiment_id, "escape-sequences", slave)
        shown = os.read(master, 65_536)
    finally:
        os.close(slave)
        os.close(master)
    text = shown.decode().replace("\r\n", "\n")
    assert "red" in text
    assert all(one.isprintable() or one == "\n" for one in text), shown


def test_a_file_gets_every_byte(system: System, experiment_id: str, tmp_path: Path) -> None:
    with (tmp_path / "log").open("wb") as copy:
        print_log(system, experiment_id, "escape-sequences", copy.fileno())
    assert (tmp_path / "log").read_bytes() == ESCAPES
