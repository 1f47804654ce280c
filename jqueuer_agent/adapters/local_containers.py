"""Local containers: what the agent runs where there is no container engine.

A local container is a directory and a container manager; the commands of its jobs are child processes of that manager.
This engine keeps as many as the registry requests. Where fewer are wanted it drains idle ones before busy ones, and
younger ones before older ones. Those that its orchestrator gives up drain, and others take their place.
"""

from __future__ import annotations

import secrets
import shutil
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from jqueuer.adapters.processes import kill_marked
from jqueuer.ports import ContainerHandle, ContainerRegistry
from jqueuer.records import ContainerStatus
from jqueuer.states import ContainerState

_LONGEST_PAUSE_SECONDS: Final = 30.0


@dataclass
class _Container:
    status: ContainerStatus
    experiment_id: str

    @property
    def draining(self) -> bool:
        return self.status.state is ContainerState.DRAINING


class LocalContainers:
    """The :class:`~jqueuer.ports.Containers` of this machine, without an engine."""

    farewell_seconds = 0.0

    def __init__(self, registry: ContainerRegistry, directory: Path, node: str, now: Callable[[], float]) -> None:
        self._registry = registry
        self._directory = directory
        self._node = node
        self._now = now
        self._containers: dict[str, _Container] = {}
        self._deaths: dict[str, int] = {}
        self._not_before: dict[str, float] = {}

    def bury(self, experiment_ids: Iterable[str], agent_lived_until: float) -> list[tuple[str, str]]:
        """End what an earlier agent of this node left behind: (experiment, container) of each.

        Local containers die with their agent, so they are paid for until its last sign of life (seconds since the
        epoch); their requests stand, so as many are started anew.
        """
        found = [
            (experiment_id, status.id)
            for experiment_id in experiment_ids
            for status in self._registry.observed(experiment_id)
            if status.node == self._node
        ]
        for experiment_id, container_id in found:
            kill_marked(f"JQUEUER_CONTAINER={container_id}")
            self._registry.ended(experiment_id, container_id, at=agent_lived_until)
        shutil.rmtree(self._directory, ignore_errors=True)
        return found

    def list(self) -> list[ContainerHandle]:
        """What is up, after starting and draining as requested."""
        requested = self._registry.requested()
        for experiment_id in requested.keys() | {container.experiment_id for container in self._containers.values()}:
            self._reconcile(experiment_id, requested.get(experiment_id, 0))
        return [
            ContainerHandle(id=container_id, experiment_id=container.experiment_id, draining=container.draining)
            for container_id, container in self._containers.items()
        ]

    def _reconcile(self, experiment_id: str, wanted: int) -> None:
        staying = {
            container_id: container
            for container_id, container in self._containers.items()
            if container.experiment_id == experiment_id and not container.draining
        }
        for container_id in staying.keys() & self._registry.draining(experiment_id):
            del staying[container_id]
            self._set_state(container_id, ContainerState.DRAINING)
        if len(staying) < wanted and time.monotonic() >= self._not_before.get(experiment_id, 0.0):
            for _ in range(wanted - len(staying)):
                self._start(experiment_id)
        elif len(staying) > wanted:
            busy = {status.id for status in self._registry.observed(experiment_id) if status.job is not None}
            victims = sorted(staying, key=lambda name: (name in busy, -staying[name].status.started_at))
            for container_id in victims[: len(staying) - wanted]:
                self._set_state(container_id, ContainerState.DRAINING)

    def _start(self, experiment_id: str) -> None:
        container_id = f"c-{secrets.token_hex(4)}"
        status = ContainerStatus(
            id=container_id, node=self._node, state=ContainerState.STARTING, started_at=self._now()
        )
        self.directory_of(container_id).mkdir(parents=True)
        self._containers[container_id] = _Container(status, experiment_id)
        self._registry.observe(experiment_id, status)

    def directory_of(self, container_id: str) -> Path:
        """Where a container's jobs run."""
        return self._directory / container_id

    def ready(self, handle: ContainerHandle) -> None:
        """The container's manager takes jobs."""
        self._deaths.pop(handle.experiment_id, None)
        if not self._containers[handle.id].draining:
            self._set_state(handle.id, ContainerState.IDLE)

    def _set_state(self, container_id: str, state: ContainerState) -> None:
        container = self._containers[container_id]
        container.status = container.status.model_copy(update={"state": state})
        self._registry.observe(container.experiment_id, container.status)

    def end(self, handle: ContainerHandle, *, planned: bool) -> None:
        """End a container; after unplanned ends the next start waits a little longer each time."""
        kill_marked(f"JQUEUER_CONTAINER={handle.id}")
        self._registry.ended(handle.experiment_id, handle.id)
        shutil.rmtree(self.directory_of(handle.id), ignore_errors=True)
        self._containers.pop(handle.id, None)
        if not planned:
            deaths = self._deaths[handle.experiment_id] = self._deaths.get(handle.experiment_id, 0) + 1
            pause = min(_LONGEST_PAUSE_SECONDS, 0.1 * 2**deaths)
            self._not_before[handle.experiment_id] = time.monotonic() + pause

    def leave(self, handle: ContainerHandle) -> None:
        """A local container ends with its agent."""
        self.end(handle, planned=True)
