"""The experiment services on a Docker Swarm. Nothing that matters is remembered here: the Swarm is asked each time.

Removing a service (measured on Docker 20.10) sends its containers the stop signal and leaves them their grace period;
their tasks stay listed, *desired: remove*, until the containers have gone. So :meth:`SwarmOrchestrator.destroy` removes
the service at once, and what drains is still seen, by the label.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Mapping
from http import HTTPStatus
from typing import Any, Final

from jqueuer.errors import EngineUnavailableError, NotFoundError
from jqueuer.labels import EXPERIMENT, service_name
from jqueuer.model import Experiment
from jqueuer.ports import ContainerRegistry, ExperimentStore
from jqueuer.records import NodeStatus, ServiceStatus
from jqueuer.scheduling import Node
from jqueuer.settings import Settings
from jqueuer_manager.adapters.swarm import refusals
from jqueuer_manager.adapters.swarm.adoption import Adoption
from jqueuer_manager.adapters.swarm.credentials import Credentials, pinned
from jqueuer_manager.adapters.swarm.engine import NOT_A_MANAGER, Engine, EngineRefusedError
from jqueuer_manager.adapters.swarm.facts import Machine, Task, labels_of, node_statuses, nodes_of, replicas_of
from jqueuer_manager.adapters.swarm.spec import service_spec
from jqueuer_manager.adapters.swarm.status import Look, status_of

_ATTEMPTS: Final = 20
_RECORD_SECONDS: Final = 15.0
"""A recorded container that no task has is gone after so long; an agent may see one before Swarm's manager does."""


class SwarmOrchestrator:
    """The :class:`~jqueuer.ports.Orchestrator` on a Docker Swarm; safe among threads."""

    def __init__(self, settings: Settings, registry: ContainerRegistry, experiments: ExperimentStore) -> None:
        self._settings = settings
        self._registry = registry
        self._experiments = experiments
        self._engine = Engine(settings.docker_url)
        self._credentials = Credentials(settings.registry_auth_file)
        self._adoption = Adoption(self._engine, registry)
        self._unknown = _Unknown()

    def create(self, experiment_id: str, description: Experiment, containers: int) -> None:
        """Create the service, or adopt the one that is there."""
        if description.container_name is not None:
            self._adoption.begin(experiment_id, description.container_name)
        elif self._service(experiment_id) is None:
            self._create(experiment_id, description, containers)

    def scale(self, experiment_id: str, containers: int) -> None:
        """Request a number of containers; whoever has to go finishes its job first. The user's own are left alone."""
        for _ in range(_ATTEMPTS):
            service = self._service(experiment_id)
            if service is None or replicas_of(service) == containers:
                return
            specification = service["Spec"]
            specification["Mode"]["Replicated"]["Replicas"] = containers
            header = self._credentials.header(specification["TaskTemplate"]["ContainerSpec"]["Image"])
            version = service["Version"]["Index"]
            try:
                self._engine.post(f"/services/{service['ID']}/update", specification, auth=header, version=version)
            except EngineRefusedError as error:
                if "out of sequence" not in str(error):
                    raise
            else:
                return
        raise EngineUnavailableError(f"service {service_name(experiment_id)} is being changed by others all the time")

    def status(self, experiment_id: str) -> ServiceStatus | None:
        """What runs now; None if there is no service and nothing is left of one."""
        service = self._service(experiment_id)
        tasks = self._tasks(label=[f"{EXPERIMENT}={experiment_id}"])
        if service is None and not tasks:
            name = self._adopted_name(experiment_id)
            if name is not None:
                return self._adopted_status(experiment_id, name)
        requested = 0 if service is None else replicas_of(service) or 0
        image = "" if service is None else service["Spec"]["TaskTemplate"]["ContainerSpec"]["Image"]
        look = self._look(experiment_id, tasks, requested, image)
        self._registry.mark_draining(experiment_id, look.draining)
        return None if service is None and not look.service.containers else look.service

    def replace(self, experiment_id: str, container_ids: Iterable[str]) -> None:
        """Give these containers up: their agents end them, and the Swarm starts others."""
        self._registry.mark_draining(experiment_id, container_ids)

    def destroy(self, experiment_id: str) -> None:
        """Remove the service; busy containers drain. The user's own service stays as it is."""
        self._adoption.end(experiment_id)
        service = self._service(experiment_id)
        if service is not None:
            self._engine.delete(f"/services/{service['ID']}")

    def nodes(self) -> tuple[Node, ...]:
        """The nodes that take containers, with what they have and what others reserve there."""
        running = self._engine.get("/tasks", filters={"desired-state": ["running"]})
        return nodes_of(self._machines(), running)

    def machines(self) -> tuple[NodeStatus, ...]:
        """Every node of the Swarm."""
        running = self._engine.get("/tasks", filters={"desired-state": ["running"]})
        return node_statuses(self._machines(), running)

    def problems(self, description: Experiment) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """(why it cannot run here, what its user should know)."""
        if not self._engine.get("/info").get("Swarm", {}).get("ControlAvailable"):
            return (NOT_A_MANAGER,), ()
        name = description.container_name
        if name is not None:
            refusal = refusals.not_adoptable(name, self._adoption.service(name))
            return (refusal,) if refusal else (), tuple(refusals.ignored_when_adopted(description))
        found, notices = refusals.misplaced(description, self._machines())
        found = [*refusals.not_allowed(description, self._settings), *refusals.too_small(description), *found]
        if description.image is None:
            found.insert(0, "on a Swarm an experiment needs an image, or the container_name of a running service")
        if not found:
            found = [words for network in description.networks if (words := self._network_missing(network))]
        return tuple(found), tuple(notices)

    def _create(self, experiment_id: str, description: Experiment, containers: int) -> None:
        if description.image is None:
            raise EngineUnavailableError("an experiment without an image has no containers on a Swarm")
        header = self._credentials.header(description.image)
        image = pinned(self._engine, description.image, header)
        specification = service_spec(experiment_id, description, containers, self._settings, image=image)
        try:
            self._engine.post("/services/create", specification, auth=header)
        except EngineRefusedError as error:
            if error.status != HTTPStatus.CONFLICT:
                raise
            if self._service(experiment_id) is None:
                raise EngineUnavailableError(
                    f"there is a service {service_name(experiment_id)} that is not ours (it has no label "
                    f"{EXPERIMENT}={experiment_id}): remove or rename it"
                ) from None

    def _service(self, experiment_id: str) -> dict[str, Any] | None:
        """Our service, as it was written down: without the defaults that would make every update a restart."""
        service = self._engine.find(f"/services/{service_name(experiment_id)}", insertDefaults=False)
        return service if service is not None and labels_of(service).get(EXPERIMENT) == experiment_id else None

    def _tasks(self, **filters: list[str]) -> list[Task]:
        return [Task.read(raw) for raw in self._engine.get("/tasks", filters=filters)]

    def _machines(self) -> list[Machine]:
        return [Machine.read(raw) for raw in self._engine.get("/nodes")]

    def _look(self, experiment_id: str, tasks: Iterable[Task], requested: int, image: str) -> Look:
        machines = self._machines()
        observed = self._registry.observed(experiment_id)
        look = status_of(tasks, machines, observed, requested=requested, now=time.time(), image=image)
        for container_id in (*look.lost, *self._unknown.for_long(experiment_id, look.unknown)):
            self._registry.ended(experiment_id, container_id)
        return look

    def _adopted_name(self, experiment_id: str) -> str | None:
        try:
            return self._experiments.get(experiment_id).description.container_name
        except NotFoundError:
            return None

    def _adopted_status(self, experiment_id: str, name: str) -> ServiceStatus | None:
        service = self._adoption.service(name)
        tasks = [] if service is None else self._tasks(service=[service["ID"]])
        adopted = self._adoption.holds(experiment_id)
        look = self._look(experiment_id, tasks, self._adoption.requested(service, tasks), "")
        if adopted:
            self._registry.mark_draining(experiment_id, look.draining)
            return self._adoption.status(look.service, refusals.not_adoptable(name, service))
        return self._adoption.leaving(look.service, self._registry.observed(experiment_id))

    def _network_missing(self, name: str) -> str:
        found: Mapping[str, Any] | None = self._engine.find(f"/networks/{name}")
        if found is None:
            return f"network {name!r} is not there: create it with docker network create --driver overlay {name}"
        if found.get("Scope") != "swarm":
            return f"network {name!r} reaches no other node: services need one of driver overlay"
        return ""


class _Unknown:
    """Since when recorded containers have no task. Lost with the process, it costs only a little time."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._since: dict[tuple[str, str], float] = {}

    def for_long(self, experiment_id: str, container_ids: Iterable[str]) -> list[str]:
        """Of the containers without a task those for which that has been so for long."""
        now, present = time.monotonic(), {(experiment_id, container_id) for container_id in container_ids}
        with self._lock:
            for key in [key for key in self._since if key[0] == experiment_id and key not in present]:
                del self._since[key]
            since = {key: self._since.setdefault(key, now) for key in present}
        return [container_id for (_, container_id), first in since.items() if now - first >= _RECORD_SECONDS]
