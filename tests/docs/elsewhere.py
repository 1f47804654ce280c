"""Commands of the documentation that are too long, or too special, to be run with their page: who runs them instead."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Elsewhere:
    """Exactly this command is not run with its page: `by`, a file of the project, runs it, or the very same."""

    command: str
    by: str
    why: str


IN_A_DISASTER = "tests/swarm/test_docs_on_swarm.py"

ELSEWHERE = (
    Elsewhere("make demo", "tests/embedded/test_demo.py", "takes a minute; that test runs what make would"),
    Elsewhere("make test", ".ci/run", "it is this run"),
    Elsewhere(
        "docker compose build manager agent",
        "tests/lab/builder.py",
        "needs the Internet, which nodes lack: built beside",
    ),
    Elsewhere("docker swarm init --advertise-addr 10.0.0.1", "tests/lab/lab.py", "with the laboratory's own address"),
    Elsewhere("docker swarm join --token SWMTKN-1-… 10.0.0.1:2377", "tests/lab/lab.py", "with the token it was told"),
    Elsewhere(
        'docker exec "$MANAGER" mv /var/lib/jqueuer/experiments /var/lib/jqueuer/experiments.old',
        IN_A_DISASTER,
        "after a loss only",
    ),
    Elsewhere('docker exec -i "$MANAGER" jqueuer restore - < jqueuer.tar.gz', IN_A_DISASTER, "after a loss only"),
)
