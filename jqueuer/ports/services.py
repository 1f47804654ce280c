"""Experiment services and their containers, as the manager and the agents see them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

from jqueuer.model import Experiment
from jqueuer.records import ContainerStatus, NodeStatus, ServiceStatus
from jqueuer.scheduling import Node


class Orchestrator(Protocol):
    """Runs the experiment services. Called by the experiment controllers; every call is idempotent."""

    def create(self, experiment_id: str, description: Experiment, containers: int) -> None:
        """Create the service, or adopt the one that is there."""

    def scale(self, experiment_id: str, containers: int) -> None:
        """Request a number of containers; a busy one that is no longer wanted drains."""

    def status(self, experiment_id: str) -> ServiceStatus | None:
        """What runs now; None if there is no such service."""

    def replace(self, experiment_id: str, container_ids: Iterable[str]) -> None:
        """Give up these containers, which take no jobs; as many as before are requested, so others take their place."""

    def destroy(self, experiment_id: str) -> None:
        """Remove the service; busy containers drain."""

    def nodes(self) -> tuple[Node, ...] | None:
        """The nodes with what they have room for; None where containers are not limited by nodes."""

    def machines(self) -> tuple[NodeStatus, ...]:
        """Every node in whatever condition, by name, for people to look at; this machine, without a cluster."""

    def problems(self, description: Experiment) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """(why this experiment cannot run here, what its user should know), both in words."""


@dataclass(frozen=True)
class ContainerHandle:
    """A container as its agent sees it."""

    id: str
    experiment_id: str
    draining: bool


class Containers(Protocol):
    """The agent's view of the containers on its node. Called by the container updater."""

    farewell_seconds: float
    """How long an agent that is told to go waits to be told which idle containers are to go as well.

    0 where containers do not outlive their agent: it ends each as soon as its job is done, and looks for no more.
    """

    def list(self) -> list[ContainerHandle]:
        """Containers of experiments on this node that are up, draining ones included."""

    def ready(self, handle: ContainerHandle) -> None:
        """The container's manager is up: it can take jobs."""

    def end(self, handle: ContainerHandle, *, planned: bool) -> None:
        """End a container whose manager has stopped: its processes, then itself."""

    def leave(self, handle: ContainerHandle) -> None:
        """The agent goes and the container's manager has stopped: end it, unless the next agent can take it over."""


class ContainerRegistry(Protocol):
    """Where agents and the orchestrator meet: what is requested (of a local engine), what is observed."""

    def request(self, experiment_id: str, containers: int) -> None:
        """Ask for a number of containers."""

    def requested(self) -> dict[str, int]:
        """All services and their requested numbers."""

    def withdraw(self, experiment_id: str) -> None:
        """The service is no longer wanted; its containers drain."""

    def observe(self, experiment_id: str, status: ContainerStatus) -> None:
        """Record a container and its state."""

    def observed(self, experiment_id: str) -> list[ContainerStatus]:
        """The recorded containers."""

    def mark_draining(self, experiment_id: str, container_ids: Iterable[str]) -> None:
        """The orchestrator has given these containers up: their agent lets them finish and ends them."""

    def draining(self, experiment_id: str) -> set[str]:
        """The containers marked so and not ended since."""

    def ended(self, experiment_id: str, container_id: str, at: float | None = None) -> None:
        """A container is gone; its lifetime is added to the experiment's container-seconds.

        It ended ``at`` that time (seconds since the epoch), or now.
        """
