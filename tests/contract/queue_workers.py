"""Workers of a job queue, each a process of its own."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest


@dataclass
class Workers:
    """Processes that take jobs as container managers do."""

    directory: Path
    processes: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def start(self, url: str, experiment_id: str, *options: str) -> Path:
        """Start one; the file of its events."""
        directory = self.directory / str(len(self.processes))
        directory.mkdir()
        (directory / "events").touch()
        command = [sys.executable, "-m", "tests.contract.queue_worker", url, experiment_id, str(directory), *options]
        with (directory / "log").open("wb") as log:
            self.processes.append(subprocess.Popen(command, stderr=log, cwd=Path(__file__).parents[2]))
        return directory / "events"

    def end(self) -> None:
        for process in self.processes:
            process.kill()
            process.wait()


@pytest.fixture
def workers(tmp_path: Path) -> Iterator[Workers]:
    workers = Workers(tmp_path)
    yield workers
    workers.end()


def started(events: Path) -> list[str]:
    """The jobs in the order in which a worker began them."""
    return [line.removeprefix("started ") for line in events.read_text().splitlines() if line.startswith("started")]
