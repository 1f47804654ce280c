"""What runs of an experiment: Swarm's tasks and what the agents have recorded, put together; pure.

Swarm knows which containers are wanted and where they are, the agents which of them can take jobs. A container counts
by what is wanted of it: Swarm lists one that drains as *running* until it has gone.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from jqueuer.records import ContainerStatus, ServiceStatus
from jqueuer.states import ContainerState
from jqueuer_manager.adapters.swarm.complaints import notes, problems, unplaced
from jqueuer_manager.adapters.swarm.facts import Machine, Task


@dataclass(frozen=True, slots=True)
class Look:
    """The status, and what is to be told the agents."""

    service: ServiceStatus
    draining: tuple[str, ...]
    """Containers that Swarm has given up and that still run."""
    lost: tuple[str, ...]
    """Recorded containers on nodes that are down."""
    unknown: tuple[str, ...]
    """Recorded containers that no task has: gone, or too new."""


def status_of(
    tasks: Iterable[Task],
    machines: Iterable[Machine],
    observed: Iterable[ContainerStatus],
    *,
    requested: int,
    now: float,
    image: str = "",
) -> Look:
    """Put together what `tasks` and agents (`observed`) say; `now` is this machine's clock, `image` what is run."""
    tasks, by_id = tuple(tasks), {machine.id: machine for machine in machines}
    recorded = {container.id: container for container in observed}
    lost_nodes = {machine.id for machine in by_id.values() if machine.lost}
    present = [task for task in tasks if task.node_id not in lost_nodes]
    waiting = unplaced(present)
    containers = [
        _container(task, by_id, recorded.get(task.container_id))
        for task in sorted(present, key=lambda task: (task.created_at, task.id))
        if task.running or (task.starting and task not in waiting)
    ]
    known = {task.container_id for task in tasks}
    return Look(
        service=ServiceStatus(
            requested=requested,
            containers=tuple(containers),
            unplaced=len(waiting),
            problem=problems(present, waiting, requested=requested, now=now),
            note=notes(present, {machine.id: machine.name for machine in by_id.values()}, image),
        ),
        draining=tuple(task.container_id for task in present if task.running and not task.wanted),
        lost=tuple(task.container_id for task in tasks if task.node_id in lost_nodes and task.container_id in recorded),
        unknown=tuple(sorted(set(recorded) - known)),
    )


def _container(task: Task, machines: Mapping[str, Machine], recorded: ContainerStatus | None) -> ContainerStatus:
    machine = machines.get(task.node_id)
    return ContainerStatus(
        id=task.container_id or task.id,
        node=machine.name if machine is not None else "",
        state=_state(task, recorded),
        started_at=recorded.started_at if recorded is not None else task.changed_at,
        job=recorded.job if recorded is not None else None,
        busy_since=recorded.busy_since if recorded is not None else None,
        claimed_at=recorded.claimed_at if recorded is not None else None,
    )


def _state(task: Task, recorded: ContainerStatus | None) -> ContainerState:
    if task.running and not task.wanted:
        return ContainerState.DRAINING
    return ContainerState.STARTING if recorded is None or not task.running else recorded.state
