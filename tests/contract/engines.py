"""Containers that come and go, locally and on a real Docker engine, and a store that knows their experiments."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from docker.errors import NotFound
from docker.models.containers import Container

from jqueuer.adapters.redis_store import RedisContainerRegistry, RedisExperimentStore
from jqueuer.adapters.redis_store.connection import StoreClient
from jqueuer.labels import CONTAINER_ID_LENGTH, EXPERIMENT, STOP_SIGNAL
from jqueuer.model import Experiment
from jqueuer.ports import ContainerHandle, Containers
from jqueuer.records import ExperimentRecord
from jqueuer.states import ContainerState, ExperimentState
from jqueuer_agent.adapters.docker_containers import DockerContainers
from jqueuer_agent.adapters.local_containers import LocalContainers
from tests.lab import available
from tests.lab.lab import Lab
from tests.lab.node import Node

Wait = Callable[..., None]
X, Y, NODE = "sweep-aaaaaa", "sweep-bbbbbb", "node1"


@dataclass
class World:
    """A store that knows the experiments X (older) and Y."""

    client: StoreClient
    registry: RedisContainerRegistry = field(init=False)
    experiments: RedisExperimentStore = field(init=False)

    def __post_init__(self) -> None:
        self.registry = RedisContainerRegistry(self.client)
        self.experiments = RedisExperimentStore(self.client)
        self.know(X)
        self.know(Y, later_seconds=1.0)

    def know(self, experiment_id: str, container_name: str | None = None, later_seconds: float = 0.0) -> None:
        record = ExperimentRecord(
            id=experiment_id,
            description=Experiment(container_name=container_name),
            state=ExperimentState.RECEIVING,
            created_at=self.experiments.now() + later_seconds,
        )
        self.experiments.create(record)
        self.experiments.accept(experiment_id)

    def states(self, experiment_id: str = X) -> dict[str, ContainerState]:
        return {status.id: status.state for status in self.registry.observed(experiment_id)}


class Engine(Protocol):
    """How containers come and go, whatever runs them."""

    containers: Containers

    def begin(self) -> None:
        """One more container for X."""

    def give_up(self, container_id: str) -> None:
        """It is no longer wanted."""


@dataclass
class LocalEngine:
    containers: LocalContainers
    registry: RedisContainerRegistry

    def begin(self) -> None:
        self.registry.request(X, self.registry.requested().get(X, 0) + 1)

    def give_up(self, container_id: str) -> None:
        self.registry.request(X, self.registry.requested()[X] - 1)


@dataclass
class DockerEngine:
    containers: DockerContainers
    node: Node
    world: World
    changed: threading.Event
    directory: Path
    others: list[DockerContainers] = field(default_factory=list)

    def begin(self, **labels: str) -> str:
        started: Container = self.node.docker.containers.run(
            "busybox", ["sleep", "1000"], detach=True, init=True, network_mode="none",
            labels={name.replace("_", "."): value for name, value in labels.items()} or {EXPERIMENT: X},
        )  # fmt: skip
        return str(started.id)[:CONTAINER_ID_LENGTH]

    def give_up(self, container_id: str) -> None:
        self.node.docker.containers.get(container_id).kill(STOP_SIGNAL)

    def runs(self, container_id: str) -> bool:
        try:
            return str(self.node.docker.containers.get(container_id).status) == "running"
        except NotFound:
            return False

    def another_agent(self, changed: threading.Event | None = None) -> DockerContainers:
        agent = watching(self.node, self.world, self.directory, changed or threading.Event())
        self.others.append(agent)
        return agent


def watching(node: Node, world: World, directory: Path, changed: threading.Event) -> DockerContainers:
    containers = DockerContainers(
        node.docker_url, NODE, registry=world.registry, experiments=world.experiments, directory=directory,
        changed=changed.set,
    )  # fmt: skip
    containers.start()
    return containers


def one(containers: Containers, eventually: Wait) -> ContainerHandle:
    """The one container that there is, as soon as there is."""
    eventually(containers.list)
    [handle] = containers.list()
    return handle


@contextmanager
def one_node(directory: Path) -> Iterator[Node]:
    """A Docker engine of its own; skips where there can be none."""
    available.require()
    with Lab(directory, nodes=1) as lab:
        lab.busybox(lab.nodes[0])
        yield lab.nodes[0]


@contextmanager
def docker_engine_on(node: Node, world: World, directory: Path) -> Iterator[DockerEngine]:
    """An agent's view of the node; whatever ran there is gone afterwards."""
    changed = threading.Event()
    engine = DockerEngine(watching(node, world, directory, changed), node, world, changed, directory)
    try:
        yield engine
    finally:
        for agent in (engine.containers, *engine.others):
            agent.stop()
        for container in node.docker.containers.list(all=True):
            container.remove(force=True)
