"""A user's own service that experiments may use (``container_name``): looked at, never touched."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from jqueuer.errors import EngineUnavailableError
from jqueuer.ports import ContainerRegistry
from jqueuer.records import ContainerStatus, ServiceStatus
from jqueuer.states import ContainerState
from jqueuer_manager.adapters.swarm.engine import Engine
from jqueuer_manager.adapters.swarm.facts import Task, replicas_of
from jqueuer_manager.adapters.swarm.refusals import not_adoptable


class Adoption:
    """Which experiments use services of the user's own; the container registry remembers it."""

    def __init__(self, engine: Engine, registry: ContainerRegistry) -> None:
        self._engine = engine
        self._registry = registry

    def service(self, name: str) -> dict[str, Any] | None:
        """The service of exactly this name."""
        found: dict[str, Any] | None = self._engine.find(f"/services/{name}")
        return found if found is not None and found["Spec"]["Name"] == name else None

    def begin(self, experiment_id: str, name: str) -> None:
        """From now on the agents run the experiment's jobs in the service's containers."""
        service = self.service(name)
        refusal = not_adoptable(name, service)
        if service is None or refusal:
            raise EngineUnavailableError(refusal)
        self._registry.request(experiment_id, replicas_of(service) or 1)

    def end(self, experiment_id: str) -> None:
        """The containers are left as soon as their jobs are done."""
        self._registry.withdraw(experiment_id)

    def holds(self, experiment_id: str) -> bool:
        """Whether the experiment uses its service now."""
        return experiment_id in self._registry.requested()

    def requested(self, service: Mapping[str, Any] | None, tasks: Iterable[Task]) -> int:
        """How many containers the service's owner asks for."""
        if service is None:
            return 0
        replicas = replicas_of(service)
        return sum(task.wanted for task in tasks) if replicas is None else replicas

    def status(self, status: ServiceStatus, refusal: str) -> ServiceStatus:
        """The status of a service in use, with why it is no longer open to experiments, if so."""
        return status.model_copy(update={"problem": refusal}) if refusal else status

    def leaving(self, status: ServiceStatus, observed: Iterable[ContainerStatus]) -> ServiceStatus | None:
        """The status of a service given up: the containers that agents have not left yet; None once there are none."""
        held = {container.id for container in observed}
        containers = tuple(
            container.model_copy(update={"state": ContainerState.DRAINING})
            for container in status.containers
            if container.id in held
        )
        return ServiceStatus(requested=0, containers=containers) if containers else None
