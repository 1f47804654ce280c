"""The pictures in docs/cli.md are what is drawn of these."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Any

from jqueuer.cli.display.cluster import cluster_picture
from jqueuer.cli.display.experiment import experiment_picture
from jqueuer.cli.display.looks import Cluster, Failure, Look
from jqueuer.cli.watching import HINT
from tests.unit.test_cli_display import printed

DOCUMENT = Path(__file__).parents[2] / "docs" / "cli.md"
NOW = datetime(2030, 1, 31, 17, 59, 20).timestamp()
"""By the clock of whoever runs this, as it is drawn."""
WIDTH = 78
GIB = 1024**3


def experiment(name: str, **changes: Any) -> dict[str, Any]:
    """An experiment that is a third of the way."""
    return {
        "id": name,
        "name": name.rpartition("-")[0],
        "owner": "alice",
        "state": "running",
        "created_at": NOW - 20,
        "deadline_at": NOW + 40,
        "finished_at": None,
        "jobs": {"total": 120, "queued": 66, "running": 3, "accomplished": 47, "failed": 4, "cancelled": 0},
        "containers": {
            "minimum": 1,
            "maximum": 4,
            "wanted": 4,
            "requested": 4,
            "starting": 1,
            "running": 3,
            "busy": 3,
            "draining": 0,
            "waiting": "",
            "problem": "",
            "note": "",
        },
        "forecast": {"finish_at": NOW + 28.2, "p80_at": NOW + 31, "p95_at": NOW + 33.4, "probability": 0.976},
        "problem": "",
        "waits_for": "",
        **changes,
    }


def node(name: str, **changes: Any) -> dict[str, Any]:
    return {
        "name": name,
        "ready": True,
        "condition": "",
        "cpu_cores": 8.0,
        "memory_bytes": 16 * GIB,
        "reserved_cpu_cores": 3.0,
        "reserved_memory_bytes": 6 * GIB,
        "containers": 3,
        **changes,
    }


LOOK = Look(
    experiment("screening-d2s7ld"),
    decision={
        "at": NOW - 6,
        "action": "scale-up",
        "containers": 4,
        "reason": "81 jobs of about 1.5 s with 4 containers: done in 32.1 s (P50) to 36.8 s (P95), 97.1 % to be done "
        "in the 46 s left; 3 calculations in a row agree: from 3 to 4",
    },
    failures=(
        Failure(
            *("n39", 2, NOW - 1.2, "exit code 3", "task 1 ended with status 3"),
            words=("Traceback (most recent call last):", "ValueError: cannot converge at n=39"),
        ),
        Failure("n20", 1, NOW - 6, "signal 9 (SIGKILL)", "task 1 was ended by signal 9"),
    ),
    busy_on={"worker-1": 2, "worker-2": 1},
)
CLUSTER = Cluster(
    url="http://127.0.0.1:8081",
    at=NOW,
    store_problem="",
    broker_up=True,
    nodes=(
        node("worker-1"),
        node("worker-2", reserved_cpu_cores=1.0, reserved_memory_bytes=2 * GIB, containers=1),
        node("worker-3", ready=False, condition="down", reserved_cpu_cores=0.0, reserved_memory_bytes=0, containers=0),
    ),
    containers_on={"worker-1": {"busy": 2, "starting": 1}, "worker-2": {"busy": 1}},
    experiments=(
        experiment(
            "nightly-7k2m9x",
            deadline_at=NOW + 5 * 3600,
            forecast=None,
            jobs={"total": 900, "queued": 900, "running": 0, "accomplished": 0, "failed": 0, "cancelled": 0},
            containers={**experiment("x")["containers"], "running": 0, "maximum": 8},
            waits_for="room for its containers: screening-d2s7ld goes first",
        ),
        experiment("screening-d2s7ld"),
        experiment("sweep-x4mr4m", state="paused", deadline_at=None, forecast=None, containers=None),
    ),
    total=3,
)


def test_the_picture_of_an_experiment_is_documented_as_it_is_drawn() -> None:
    picture = printed(experiment_picture(LOOK, NOW, WIDTH, hint=HINT), WIDTH)
    assert block(picture) in DOCUMENT.read_text()


def test_the_picture_of_the_cluster_is_documented_as_it_is_drawn() -> None:
    assert block(printed(cluster_picture(CLUSTER, NOW, WIDTH), WIDTH)) in DOCUMENT.read_text()


def block(picture: str) -> str:
    return "\n".join(("```text", *(line.rstrip() for line in picture.splitlines()), "```"))
