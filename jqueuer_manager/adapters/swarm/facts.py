"""What the Swarm says of tasks, nodes and services, read from its JSON; pure."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, Self

from jqueuer.labels import CONTAINER_ID_LENGTH, EXPERIMENT
from jqueuer.records import NodeStatus
from jqueuer.scheduling import Node

_NANO: Final = 1_000_000_000
_BEFORE_RUNNING: Final = frozenset(
    {"new", "allocated", "pending", "assigned", "accepted", "preparing", "ready", "starting"}
)
_GIVEN_UP: Final = frozenset({"shutdown", "remove", "complete", "failed", "rejected", "orphaned"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """One container as Swarm plans it: what it shall be, and what it is."""

    id: str
    place: str
    """Its slot, or its node where every node has one: of the tasks of one place at most one is wanted."""
    node_id: str
    state: str
    wanted: bool
    error: str
    container_id: str
    created_at: float
    changed_at: float

    @classmethod
    def read(cls, raw: Mapping[str, Any]) -> Self:
        """From Swarm's JSON."""
        status = raw["Status"]
        container = (status.get("ContainerStatus") or {}).get("ContainerID", "")
        return cls(
            id=raw["ID"][:CONTAINER_ID_LENGTH],
            place=str(raw.get("Slot") or raw.get("NodeID", "")),
            node_id=raw.get("NodeID", ""),
            state=status["State"],
            wanted=raw["DesiredState"] not in _GIVEN_UP,
            error=status.get("Err", ""),
            container_id=container[:CONTAINER_ID_LENGTH],
            created_at=_moment(raw["CreatedAt"]),
            changed_at=_moment(status.get("Timestamp", raw["CreatedAt"])),
        )

    @property
    def starting(self) -> bool:
        """On its way to run."""
        return self.wanted and self.state in _BEFORE_RUNNING

    @property
    def running(self) -> bool:
        """Its container is up, wanted or not."""
        return self.state == "running"


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """A node of the Swarm, in whatever condition."""

    id: str
    name: str
    lost: bool
    """Swarm has given it up: nobody knows what still runs there, and its tasks run elsewhere."""
    usable: bool
    """It takes new containers."""
    cpu_cores: float
    memory_bytes: int
    attributes: Mapping[str, str]
    condition: str = ""
    """Why it takes none, in Swarm's words."""

    @classmethod
    def read(cls, raw: Mapping[str, Any]) -> Self:
        """From Swarm's JSON."""
        spec, about, status = raw["Spec"], raw.get("Description", {}), raw.get("Status", {})
        resources, platform = about.get("Resources", {}), about.get("Platform", {})
        name = about.get("Hostname", "")
        attributes = {
            "node.id": raw["ID"],
            "node.hostname": name,
            "node.role": spec.get("Role", ""),
            "node.ip": status.get("Addr", ""),
            "node.platform.os": platform.get("OS", ""),
            "node.platform.arch": _architecture(platform.get("Architecture", "")),
            **{f"node.labels.{key}": value for key, value in (spec.get("Labels") or {}).items()},
            **{f"engine.labels.{key}": value for key, value in (about.get("Engine", {}).get("Labels") or {}).items()},
        }
        state, availability = status.get("State", ""), spec.get("Availability", "")
        usable = state == "ready" and availability == "active"
        return cls(
            id=raw["ID"],
            name=name,
            lost=state == "down",
            usable=usable,
            condition="" if usable else availability if state == "ready" else state,
            cpu_cores=resources.get("NanoCPUs", 0) / _NANO,
            memory_bytes=resources.get("MemoryBytes", 0),
            attributes=attributes,
        )


def node_statuses(machines: Iterable[Machine], running_tasks: Iterable[Mapping[str, Any]]) -> tuple[NodeStatus, ...]:
    """All nodes, with everything that is reserved there.

    `running_tasks`: the tasks of all services that shall run, as Swarm's JSON.
    """
    tasks = tuple(running_tasks)
    cores, memory = _reserved(tasks)
    containers = Counter(task.get("NodeID", "") for task in tasks if _of_experiment(task))
    return tuple(
        NodeStatus(
            name=machine.name,
            ready=machine.usable,
            condition=machine.condition,
            cpu_cores=machine.cpu_cores,
            memory_bytes=machine.memory_bytes,
            reserved_cpu_cores=cores[machine.id],
            reserved_memory_bytes=memory[machine.id],
            containers=containers[machine.id],
        )
        for machine in sorted(machines, key=lambda machine: (machine.name, machine.id))
    )


def _of_experiment(task: Mapping[str, Any]) -> bool:
    return EXPERIMENT in ((task["Spec"].get("ContainerSpec") or {}).get("Labels") or {})


def _reserved(tasks: Iterable[Mapping[str, Any]]) -> tuple[defaultdict[str, float], defaultdict[str, int]]:
    """Cores and bytes that tasks reserve, by node."""
    cores, memory = defaultdict[str, float](float), defaultdict[str, int](int)
    for task in tasks:
        reserved = (task["Spec"].get("Resources") or {}).get("Reservations") or {}
        cores[task.get("NodeID", "")] += reserved.get("NanoCPUs", 0) / _NANO
        memory[task.get("NodeID", "")] += reserved.get("MemoryBytes", 0)
    return cores, memory


def nodes_of(machines: Iterable[Machine], running_tasks: Iterable[Mapping[str, Any]]) -> tuple[Node, ...]:
    """The nodes that take containers, with what everything but experiment services reserves there.

    `running_tasks`: the tasks of all services that shall run, as Swarm's JSON.
    """
    cores, memory = _reserved(task for task in running_tasks if not _of_experiment(task))
    return tuple(
        Node(
            name=machine.name,
            cpu_cores=machine.cpu_cores,
            memory_bytes=machine.memory_bytes,
            foreign_cpu_cores=cores[machine.id],
            foreign_memory_bytes=memory[machine.id],
            attributes=machine.attributes,
        )
        for machine in sorted(machines, key=lambda machine: (machine.name, machine.id))
        if machine.usable
    )


def replicas_of(service: Mapping[str, Any]) -> int | None:
    """How many containers a service asks for; None where it asks for one on every node."""
    replicated = service["Spec"]["Mode"].get("Replicated")
    return None if replicated is None else int(replicated.get("Replicas", 0))


def labels_of(service: Mapping[str, Any]) -> Mapping[str, str]:
    """The service's own labels."""
    return service["Spec"].get("Labels") or {}


def _architecture(name: str) -> str:
    return {"x86_64": "amd64", "aarch64": "arm64"}.get(name, name)


def _moment(text: str) -> float:
    return datetime.fromisoformat(text).timestamp()
