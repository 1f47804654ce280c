"""The experiment service on the nodes: where Swarm would start its containers, and which it would end."""

from __future__ import annotations

from collections import Counter

from jqueuer.records import ContainerStatus
from jqueuer.simulation.jobs import NONE
from jqueuer.states import ContainerState


class Container:
    """One container of the experiment service."""

    __slots__ = (
        "asked_at",
        "busy_since",
        "busy_with",
        "draining",
        "gone",
        "job",
        "node",
        "number",
        "status",
        "ticket",
        "up_at",
    )

    def __init__(self, number: int, node: Node, asked_at: float) -> None:
        self.number = number
        self.node = node
        self.asked_at = asked_at
        self.up_at: float | None = None
        """When it could take jobs for the first time."""
        self.draining = False
        self.gone = False
        self.job = NONE
        self.busy_since = 0.0
        self.busy_with = 0
        """How many containers were busy when its present attempt began."""
        self.ticket = 0
        """The number of its present attempt; what is planned under an older one is void."""
        self.status: ContainerStatus | None = None
        """As last looked at, while that is still true."""

    def seen(self) -> ContainerStatus:
        """As the orchestrator reports it."""
        state, busy_since = self._state(), self.busy_since if self.job != NONE else None
        status = self.status
        if status is None or status.state is not state or status.busy_since != busy_since:
            self.status = status = ContainerStatus.model_construct(
                id=f"container-{self.number}",
                node=self.node.name,
                state=state,
                started_at=self.asked_at,
                job=None if busy_since is None else f"job-{self.job}",
                busy_since=busy_since,
            )
        return status

    def _state(self) -> ContainerState:
        if self.draining:
            return ContainerState.DRAINING
        if self.up_at is None:
            return ContainerState.STARTING
        return ContainerState.IDLE if self.job == NONE else ContainerState.BUSY


class Node:
    """A node with its room."""

    __slots__ = ("image_at", "image_pull_seconds", "name", "number", "present", "slots", "standing", "staying")

    def __init__(self, number: int, slots: int, image_pull_seconds: float) -> None:
        self.number = number
        self.name = f"node-{number}"
        self.slots = slots
        self.image_pull_seconds = image_pull_seconds
        self.image_at: float | None = None
        """When it has the image, once somebody asked for it."""
        self.present = True
        self.standing = 0
        """Containers here, whatever they do."""
        self.staying = 0
        """Those of them that are not given up."""


class Service:
    """Which containers there are, and how many are requested; it does not know what they work on."""

    def __init__(self, nodes: tuple[Node, ...]) -> None:
        self.nodes = nodes
        self.requested: int | None = None
        """None while there is no service."""
        self.containers: dict[int, Container] = {}
        """In the order in which they were asked for."""
        self._asked_for = 0

    @property
    def short(self) -> int:
        """Containers requested that have no node."""
        return max(0, (self.requested or 0) - sum(node.staying for node in self.nodes))

    def place(self, now: float) -> Container | None:
        """Put one more on the node with room that has fewest of the service; None where no node has room."""
        fitting = [node for node in self.nodes if node.present and node.standing < node.slots]
        if not fitting:
            return None
        node = min(fitting, key=lambda node: (node.staying, node.standing, node.number))
        self._asked_for += 1
        container = Container(self._asked_for, node, now)
        self.containers[container.number] = container
        node.standing += 1
        node.staying += 1
        return container

    def drain(self, container: Container) -> None:
        """It is given up, but stays until its job has ended."""
        container.draining = True
        container.node.staying -= 1

    def remove(self, container: Container) -> None:
        """It is gone."""
        del self.containers[container.number]
        container.node.standing -= 1
        container.node.staying -= not container.draining
        container.gone = True

    def victims(self) -> list[Container]:
        """Those above the requested number that Swarm ends.

        Those on nodes with most of the service's first; of equals the ones not up yet, then the newest. Which of them
        hold a job Swarm does not know.
        """
        on, order = Counter[int](), list[tuple[int, Container]]()
        staying = [container for container in self.containers.values() if not container.draining]
        for container in sorted(staying, key=lambda one: (one.up_at is None, one.number)):
            order.append((on[container.node.number], container))
            on[container.node.number] += 1
        order.sort(key=lambda entry: entry[0])
        return [container for _, container in order[self.requested or 0 :]]
