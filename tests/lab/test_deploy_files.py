"""The files of a deployment fit together. What they do together, tests/swarm shows."""

from __future__ import annotations

import os
import stat
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[2]


@pytest.fixture
def compose() -> dict[str, Any]:
    content: dict[str, Any] = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
    return content


def make_secrets(directory: Path) -> dict[str, str]:
    subprocess.run([ROOT / "tools" / "make-secrets", directory], check=True, capture_output=True)
    return {path.name: path.read_text() for path in directory.iterdir()}


def pins(lock: Path) -> set[str]:
    return {line.split()[0] for line in lock.read_text().splitlines() if "==" in line}


def test_secrets_are_random_and_their_owners_alone(tmp_path: Path) -> None:
    first, second = make_secrets(tmp_path / "first"), make_secrets(tmp_path / "second")
    assert first.keys() == second.keys()
    assert {name for name in first if first[name] == second[name]} == {"registry_auth.json"}, "that one holds none"
    assert stat.S_IMODE((tmp_path / "first").stat().st_mode) == 0o700


def test_secrets_that_are_there_stay(tmp_path: Path) -> None:
    first = make_secrets(tmp_path)
    (tmp_path / "redis.conf").unlink()
    assert make_secrets(tmp_path) == first, "what was lost is made to fit what is there"


def test_the_stack_asks_for_no_secret_that_is_not_made(compose: dict[str, Any], tmp_path: Path) -> None:
    asked = {Path(secret["file"]).name for secret in compose["secrets"].values()}
    assert asked == set(make_secrets(tmp_path))
    given = [name for service in compose["services"].values() for name in service.get("secrets", [])]
    assert {name if isinstance(name, str) else name["source"] for name in given} == set(compose["secrets"])


def test_the_stack_asks_for_no_configuration_that_is_not_there(compose: dict[str, Any]) -> None:
    assert [name for name, config in compose["configs"].items() if not (ROOT / config["file"]).is_file()] == []
    given = {config["source"] for service in compose["services"].values() for config in service.get("configs", [])}
    assert given == set(compose["configs"])


def test_the_stack_publishes_the_manager_and_grafana_alone(compose: dict[str, Any]) -> None:
    ports = {name: service["ports"] for name, service in compose["services"].items() if "ports" in service}
    assert ports == {
        "manager": [{"target": 8081, "published": 8081}],
        "grafana": [{"target": 3000, "published": 3000}],
    }


def test_images_hold_the_versions_that_are_tested() -> None:
    assert pins(ROOT / "deploy" / "requirements.lock") < pins(ROOT / "requirements.lock")


@pytest.mark.parametrize("template", ["", "{{.Node.Hostname}}"])
def test_a_node_without_a_name_of_its_own_is_left_to_the_agent(template: str) -> None:
    """Plain `docker compose` does not fill in the template."""
    environment = {**os.environ, "JQUEUER_NODE": template, "JQUEUER_STATE_DIR": "/"}
    script = f"id() {{ echo 1000; }}; . {ROOT}/deploy/entrypoint"
    command = ["sh", "-c", script, "entrypoint", "sh", "-c", 'echo "<${JQUEUER_NODE:-}>"']
    assert subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout == "<>\n"
