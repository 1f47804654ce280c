"""The orchestrators under test, with tests in the place of agents: they record containers and end what drains."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import docker.errors
import pytest

from jqueuer.adapters.redis_store import RedisContainerRegistry, RedisExperimentStore
from jqueuer.adapters.redis_store.connection import StoreClient
from jqueuer.model import Experiment
from jqueuer.ports import Orchestrator
from jqueuer.records import ContainerStatus, ExperimentRecord, ServiceStatus
from jqueuer.settings import Settings
from jqueuer.states import ContainerState, ExperimentState
from jqueuer_manager.adapters.local_orchestrator import LocalOrchestrator
from jqueuer_manager.adapters.swarm import SwarmOrchestrator
from tests.lab import available
from tests.lab.lab import Lab
from tests.lab.node import Node

Wait = Callable[..., None]
IMAGE = "busybox:latest"
SECONDS = 30.0
PLAIN = Experiment(image=IMAGE)


class World(Protocol):
    """An orchestrator and who plays its agents."""

    orchestrator: Orchestrator
    registry: RedisContainerRegistry

    def agents(self) -> None:
        """One look of all agents: containers that are up are recorded as idle, those that drain are ended."""


@dataclass
class LocalWorld:
    """Containers that exist only in the registry."""

    registry: RedisContainerRegistry
    orchestrator: Orchestrator = field(init=False)

    def __post_init__(self) -> None:
        self.orchestrator = LocalOrchestrator(self.registry)

    def agents(self) -> None:
        wanted = {"e1": 0, **self.registry.requested()}
        for experiment_id, count in wanted.items():
            for status in self.registry.observed(experiment_id)[count:]:
                self.registry.ended(experiment_id, status.id)
            for number in range(count):
                record(self.registry, experiment_id, f"container{number}", "local")


@dataclass
class SwarmWorld:
    """A Swarm's nodes, and the agents of all of them."""

    lab: Lab
    registry: RedisContainerRegistry
    experiments: RedisExperimentStore
    orchestrator: SwarmOrchestrator = field(init=False)

    def __post_init__(self) -> None:
        self.orchestrator = self.manager()

    def manager(self, **settings: Any) -> SwarmOrchestrator:
        """A manager that has just been started."""
        settings = {"docker_url": self.lab.nodes[0].docker_url, **settings}
        return SwarmOrchestrator(Settings(**settings), self.registry, self.experiments)

    @property
    def api(self) -> docker.DockerClient:
        """The engine of the Swarm's manager."""
        return self.lab.nodes[0].docker

    def containers(self, experiment_id: str = "e1") -> dict[str, Node]:
        """The experiment's containers that are up, by the engines themselves."""
        filters = {"label": f"jqueuer.experiment={experiment_id}"}
        return {
            found.id[:12]: node for node in self.lab.nodes for found in node.docker.containers.list(filters=filters)
        }

    def agents(self) -> None:
        draining = self.registry.draining("e1")
        for container_id, node in self.containers().items():
            if container_id in draining:
                kill(node, container_id)
                self.registry.ended("e1", container_id)
            else:
                record(self.registry, "e1", container_id, node.name)

    def status(self) -> ServiceStatus:
        """What runs of an experiment that is there."""
        status = self.orchestrator.status("e1")
        assert status is not None
        return status

    def up(self, description: Experiment, containers: int, eventually: Wait) -> set[str]:
        """Create the service and wait until its containers run; their ids."""
        self.orchestrator.create("e1", description, containers)
        eventually(lambda: len(self.containers()) == containers, SECONDS)
        eventually(lambda: {status.id for status in self.status().containers} == set(self.containers()), SECONDS)
        return set(self.containers())

    def clear(self, eventually: Wait) -> None:
        """Leave nothing behind."""
        for service in self.api.services.list():
            service.remove()

        def nothing_left() -> bool:
            for node in self.lab.nodes:
                for container in node.docker.containers.list():
                    kill(node, container.id)
            return not self.api.api.tasks() and not any(node.docker.containers.list() for node in self.lab.nodes)

        eventually(nothing_left, SECONDS)


def kill(node: Node, container_id: str) -> None:
    """End a container, unless somebody else just did."""
    try:
        node.docker.api.kill(container_id)
    except docker.errors.APIError as error:
        if error.status_code not in (404, 409):
            raise


def record(registry: RedisContainerRegistry, experiment_id: str, container_id: str, node: str) -> None:
    """What an agent does once a container can take jobs."""
    if container_id not in {status.id for status in registry.observed(experiment_id)}:
        status = ContainerStatus(id=container_id, node=node, state=ContainerState.IDLE, started_at=1.0)
        registry.observe(experiment_id, status)


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    available.require()
    with Lab(tmp_path_factory.mktemp("lab")) as lab:
        lab.swarm()
        for node in lab.nodes:
            lab.busybox(node)
        yield lab


@pytest.fixture
def swarm(lab: Lab, client: StoreClient, eventually: Wait) -> Iterator[SwarmWorld]:
    world = SwarmWorld(lab, RedisContainerRegistry(client), RedisExperimentStore(client))
    yield world
    world.clear(eventually)


@pytest.fixture(params=["local", "swarm"])
def world(request: pytest.FixtureRequest, client: StoreClient) -> World:
    if request.param == "local":
        return LocalWorld(RedisContainerRegistry(client))
    found: SwarmWorld = request.getfixturevalue("swarm")
    return found


def idle(world: World) -> tuple[int, int] | None:
    """(requested, idle) after the agents looked."""
    world.orchestrator.status("e1")
    world.agents()
    status = world.orchestrator.status("e1")
    return None if status is None else (status.requested, status.count(ContainerState.IDLE))


def accept(client: StoreClient, description: Experiment) -> None:
    """The experiment ``e1`` in the store, running."""
    experiments = RedisExperimentStore(client)
    experiments.create(
        ExperimentRecord(id="e1", description=description, state=ExperimentState.RECEIVING, created_at=1.0)
    )
    experiments.accept("e1")


def auth_file(directory: Path, registry: str, login: str) -> Path:
    """A ``config.json`` of Docker's."""
    file = directory / "config.json"
    file.write_text(json.dumps({"auths": {registry: {"auth": base64.b64encode(login.encode()).decode()}}}))
    return file
