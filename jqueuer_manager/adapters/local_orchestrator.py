"""The experiment services of one machine without a container engine: requests that the local agent carries out."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterable

from jqueuer.model import Experiment
from jqueuer.ports import ContainerRegistry
from jqueuer.records import NodeStatus, ServiceStatus


class LocalOrchestrator:
    """The :class:`~jqueuer.ports.Orchestrator` that writes requests into the container registry."""

    def __init__(self, registry: ContainerRegistry, *, node: str = "") -> None:
        self._registry = registry
        self._node = node or socket.gethostname()

    def create(self, experiment_id: str, description: Experiment, containers: int) -> None:
        """Create the service, or adopt the one that is there."""
        if experiment_id not in self._registry.requested():
            self._registry.request(experiment_id, containers)

    def scale(self, experiment_id: str, containers: int) -> None:
        """Request a number of containers."""
        self._registry.request(experiment_id, containers)

    def status(self, experiment_id: str) -> ServiceStatus | None:
        """What runs now; None if there is no such service and nothing is left of it."""
        requested = self._registry.requested().get(experiment_id)
        observed = tuple(self._registry.observed(experiment_id))
        if requested is None and not observed:
            return None
        return ServiceStatus(requested=requested or 0, containers=observed)

    def replace(self, experiment_id: str, container_ids: Iterable[str]) -> None:
        """Give these containers up; the agent starts others."""
        self._registry.mark_draining(experiment_id, container_ids)

    def destroy(self, experiment_id: str) -> None:
        """Remove the service; busy containers drain."""
        self._registry.withdraw(experiment_id)

    def nodes(self) -> None:
        """One machine has no nodes to share."""

    def machines(self) -> tuple[NodeStatus, ...]:
        """This machine; local containers reserve nothing."""
        return (
            NodeStatus(
                name=self._node,
                ready=True,
                cpu_cores=float(os.cpu_count() or 1),
                memory_bytes=os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
                containers=sum(len(self._registry.observed(one)) for one in self._registry.requested()),
            ),
        )

    def problems(self, description: Experiment) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """(why it cannot run here, what its user should know)."""
        refusals, notices = [], []
        if description.container_name is not None:
            refusals.append(
                f"container_name names a running service ({description.container_name!r}), and there is none without a "
                "Docker Swarm: give an image instead, or submit to a manager on the Swarm"
            )
        if description.image is not None:
            notices.append(f"image {description.image!r} is ignored: containers are local processes here")
        limited = (description.resources.cpu, description.resources.memory)
        if any(value is not None for resource in limited for value in (resource.reserve, resource.limit)):
            notices.append("resources are not enforced: containers are local processes here")
        return tuple(refusals), tuple(notices)
