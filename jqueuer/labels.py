"""What experiment services and their containers are marked with on a Docker Swarm."""

from __future__ import annotations

from typing import Final

EXPERIMENT: Final = "jqueuer.experiment"
"""On services and containers: the id of the experiment they belong to."""

ADOPT: Final = "jqueuer.adopt"
"""``true`` on a service of the user's own: experiments may name it as their ``container_name``."""

CONTAINER_ID_LENGTH: Final = 12
"""Containers are known by the first characters of the engine's id, as ``docker ps`` shows them."""

STOP_SIGNAL: Final = "SIGURG"
"""What Swarm sends a container that is no longer wanted: programs ignore it unless they ask for it, so a job under way
is not touched; the node's agent sees it pass and ends the container once its job is done."""


def service_name(experiment_id: str) -> str:
    """The name of an experiment's service."""
    return f"jqueuer-{experiment_id}"
