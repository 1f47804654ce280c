"""The real system on this machine, running: store, broker, manager, agent, containers."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from jqueuer.client import Client
from jqueuer.embedded import Embedded

QUICK = {
    "JQUEUER_CONTROL_SECONDS": "100ms",
    "JQUEUER_UPDATER_SECONDS": "50ms",
    "JQUEUER_HEARTBEAT_SECONDS": "200ms",
    "JQUEUER_LEASE_SECONDS": "5s",
}
"""Shorter pauses than a user has; what is tested is the same."""


@dataclass(frozen=True)
class System:
    """A running system and a client of it."""

    embedded: Embedded
    api: Client

    @property
    def environment(self) -> dict[str, str]:
        """What the command line needs to know of this system."""
        return {"JQUEUER_URL": self.embedded.url, "JQUEUER_TOKEN": self.embedded.token}

    def submit(self, text: str) -> str:
        """Submit a description; the id."""
        return str(self.api.submit_bytes(textwrap.dedent(text).encode())["id"])

    def run(self, text: str) -> dict[str, Any]:
        """Submit it and wait for its end; the summary."""
        experiment_id = self.submit(text)
        self.api.wait(experiment_id, poll_seconds=0.05)
        return self.api.summary(experiment_id)

    def attempts(self, experiment_id: str, job_id: str) -> list[dict[str, Any]]:
        """All attempts at a job."""
        return list(self.api.job(experiment_id, job_id)["attempts"])

    def log(self, experiment_id: str, job_id: str, attempt: int = 1, stream: str = "stdout") -> str:
        """What an attempt printed."""
        return b"".join(self.api.log(experiment_id, job_id, attempt, stream)).decode()

    def counts(self, experiment_id: str) -> dict[str, int]:
        """Jobs by state."""
        return dict(self.api.experiment(experiment_id)["jobs"])

    def containers(self, experiment_id: str) -> dict[str, int]:
        """Containers by state, and how many are wanted."""
        return dict(self.api.experiment(experiment_id)["containers"])


def sweep_of(jobs: int, shell: str, *, outputs: Sequence[str] = (), post: str = "") -> str:
    """An experiment of so many jobs on two containers; each runs this in a shell, where ``{{n}}`` is its number."""
    job = {"id": "n{{n}}", "command": {"shell": shell}, "outputs": list(outputs)}
    sweep = {"parameters": {"n": {"from": 1, "to": jobs, "step": 1}}, "job": job}
    after = {"post": {"command": {"shell": post}}} if post else {}
    return json.dumps({"containers": {"min": 2, "max": 2}, "sweep": sweep} | after)


@pytest.fixture(scope="session")
def system(tmp_path_factory: pytest.TempPathFactory) -> Iterator[System]:
    """One system for all tests that leave it running."""
    with (
        Embedded(tmp_path_factory.mktemp("system"), settings=QUICK) as embedded,
        Client(embedded.url, token=embedded.token) as api,
    ):
        yield System(embedded, api)


@pytest.fixture
def own_system(tmp_path: Path) -> Iterator[Callable[[], System]]:
    """Systems of a test's own, in one directory, one after the other; to be killed and started again."""
    running: list[Embedded] = []

    def start(**settings: str) -> System:
        embedded = Embedded(tmp_path / "own", settings={**QUICK, **settings})
        embedded.start()
        running.append(embedded)
        return System(embedded, Client(embedded.url, token=embedded.token))

    yield start
    for embedded in running:
        embedded.stop(force=True)
