"""The project's own stack on one engine, by plain ``docker compose up``, as a user starts it there."""

from __future__ import annotations

import functools
import json
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import requests

from jqueuer.client import Client
from tests.lab.images import images
from tests.lab.lab import Lab
from tests.lab.recipes import ROOT
from tests.lab.waiting import LabError, wait_until

PROJECT: Final = "jqueuer"
_LEASE_SECONDS: Final = 5
"""What is lost with the machine is not waited for longer than a test needs."""
_UNPACKAGED: Final = frozenset({"grafana"})
_STATES: Final = "{{.Service}} {{.State}} {{.Health}}"
_READY_SECONDS: Final = 120.0
_COMMAND_SECONDS: Final = 180.0
"""``docker compose down`` may take a day where jobs do."""


class ComposedStack:
    """An engine, and what ``docker compose`` does there with ``docker-compose.yml`` alone, no override."""

    def __init__(self, lab: Lab, tag: str) -> None:
        (self.node,) = lab.nodes
        self.shared = lab.shared
        self.url = f"http://{self.node.address}:8081"
        self.secrets = lab.directory / "secrets"
        subprocess.run([ROOT / "tools" / "make-secrets", self.secrets], check=True, capture_output=True)
        self._environment = {
            **os.environ,
            "DOCKER_HOST": self.node.docker_url,
            "COMPOSE_PROJECT_NAME": PROJECT,
            "JQUEUER_TAG": tag,
            "JQUEUER_SECRETS": str(self.secrets),
            "JQUEUER_LEASE_SECONDS": f"{_LEASE_SECONDS}s",
            "JQUEUER_ALLOWED_MOUNTS": json.dumps([str(self.shared)]),
        }

    @functools.cached_property
    def api(self) -> Client:
        """The manager's API, as an administrator."""
        return Client(self.url, token=(self.secrets / "admin_token").read_text())

    @functools.cached_property
    def services(self) -> list[str]:
        """The services of the file, but for those of which there is no image here."""
        return sorted({*self.docker("compose", "config", "--services").split()} - _UNPACKAGED)

    def up(self) -> None:
        """``docker compose up``; returns when all of it runs and the manager has its store."""
        self.docker("compose", "up", "--detach", *self.services)
        self.wait_ready()

    def down(self) -> None:
        """``docker compose down``, which leaves the volumes."""
        self.docker("compose", "down")

    def become_swarm(self) -> None:
        """``docker swarm init``, where the engine is none yet."""
        if self.node.docker.info()["Swarm"]["LocalNodeState"] != "active":
            self.docker("swarm", "init")

    def wait_ready(self) -> None:
        """Until every service has its container and the manager answers."""
        wait_until(self._is_ready, _READY_SECONDS, lambda: f"the stack is not ready\n{self.report()}")

    def states(self) -> dict[str, str]:
        """Service → its container's health where it has a check, else its state: "healthy", "starting", "running" …"""
        rows = [line.split() for line in self.docker("compose", "ps", "--format", _STATES).splitlines()]
        return {row[0]: row[-1] for row in rows}

    def report(self) -> str:
        """Containers and their last words, for a message."""
        return self.docker("compose", "ps", "--all") + self.docker("compose", "logs", "--tail", "20")

    def docker(self, *arguments: str) -> str:
        """Run the command line on this engine; what it printed."""
        done = subprocess.run(
            ["docker", *arguments], cwd=ROOT, env=self._environment, stdin=subprocess.DEVNULL,
            capture_output=True, text=True, check=False, timeout=_COMMAND_SECONDS,
        )  # fmt: skip
        if done.returncode:
            raise LabError(f"docker {' '.join(arguments)}: {done.stderr.strip()}")
        return done.stdout

    def _is_ready(self) -> bool:
        try:
            return sorted(self.states()) == self.services and requests.get(f"{self.url}/readyz", timeout=2).ok
        except requests.RequestException:
            return False


@contextmanager
def composed_stack(directory: Path) -> Iterator[ComposedStack]:
    """One engine, no Swarm, with the stack on it; nothing is left of it."""
    found = images()
    with Lab(directory, nodes=1, registry_data=found.registry_data) as lab:
        stack = ComposedStack(lab, found.tag)
        stack.up()
        yield stack
