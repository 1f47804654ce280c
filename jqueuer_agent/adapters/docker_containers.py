"""The containers of experiments on this node's Docker engine.

Found by label, by the engine's events and by a listing every few seconds. A container that its orchestrator gives up
is sent :data:`~jqueuer.labels.STOP_SIGNAL`, which it ignores; here it is seen, the container drains, and is killed once
its job is done. Containers of a user's own service, which an experiment named, are worked in and never killed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Set
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import structlog
from docker.errors import APIError, DockerException
from requests import RequestException

from jqueuer.errors import EngineUnavailableError, JQueuerError
from jqueuer.ports import ContainerHandle, ContainerRegistry, ExperimentStore
from jqueuer.records import ContainerStatus
from jqueuer.states import ContainerState
from jqueuer_agent.adapters.docker_events import EngineWatch, Memory, connect, engine_errors
from jqueuer_agent.adapters.docker_ownership import StoreView, Troubles
from jqueuer_agent.adapters.holds import Holds

_GONE_ALREADY: Final = frozenset({404, 409})

log = structlog.get_logger()


@dataclass
class _Container:
    experiment_id: str
    status: ContainerStatus
    adopted_from: str
    """The user's service it belongs to; empty for containers of our own services."""
    listed: bool = False

    @property
    def state(self) -> ContainerState:
        return self.status.state


class DockerContainers:
    """The :class:`~jqueuer.ports.Containers` of a Docker engine; called by one thread."""

    farewell_seconds = 5.0
    """Where a node is drained, the agent and the containers are told at about the same time, in any order."""

    def __init__(
        self,
        url: str,
        node: str,
        *,
        registry: ContainerRegistry,
        experiments: ExperimentStore,
        directory: Path,
        changed: Callable[[], None],
    ) -> None:
        self._node = node
        self._registry = registry
        self._experiments = experiments
        with engine_errors(url):
            self._client = connect(url)
        self._memory = Memory()
        self._watch = EngineWatch(url, self._memory, changed, self._ask_store)
        self._store_view = StoreView(registry, experiments)
        self._holds = Holds(directory)
        self._troubles = Troubles()
        self._containers: dict[str, _Container] = {}
        self._left: set[str] = set()
        self._done_with: set[str] = set()

    def start(self) -> None:
        """Begin to watch; raises where engine or store do not answer."""
        self._store_view.read()
        self._watch.start()

    def stop(self) -> None:
        """Watch no more."""
        self._watch.stop()
        self._client.close()

    def _ask_store(self) -> None:
        try:
            self._store_view.read()
        except JQueuerError as error:
            log.warning("the store does not answer; asking again", error=str(error))

    def bury(self, experiment_ids: Iterable[str]) -> list[tuple[str, str]]:
        """Forget what the registry has for this node and the engine has not: (experiment, container) of each."""
        running = self._memory.running()
        self._holds.tidy(running)
        gone = [
            (experiment_id, status.id)
            for experiment_id in experiment_ids
            for status in self._registry.observed(experiment_id)
            if status.node == self._node and status.id not in running
        ]
        for experiment_id, container_id in gone:
            self._registry.ended(experiment_id, container_id)
        return gone

    def list(self) -> list[ContainerHandle]:
        """What runs and is ours, from memory; new ones are put into the registry."""
        running = self._memory.running()
        outlived = {container_id for container_id, labels in running.items() if self._store_view.outlived(labels)}
        given_up = self._memory.stopping() | self._store_view.marked | outlived
        self._forget_the_vanished(running)
        self._take_new(running, given_up)
        for container_id, container in self._containers.items():
            self._drain_where_unwanted(container_id, container, given_up)
            container.listed = container.listed or (
                container.state is ContainerState.DRAINING or not self._troubles.hold_back(container.experiment_id)
            )
        return [
            ContainerHandle(container_id, container.experiment_id, container.state is ContainerState.DRAINING)
            for container_id, container in self._containers.items()
            if container.listed and container_id in running
        ]

    def _forget_the_vanished(self, running: Mapping[str, object]) -> None:
        self._left &= running.keys()
        self._done_with &= running.keys()
        for container_id in [name for name in self._containers if name not in running]:
            container = self._containers[container_id]
            if not container.listed:  # else whoever was told of it has to end it
                self._registry.ended(container.experiment_id, container_id)
                self._let_go(container_id)

    def _take_new(self, running: Mapping[str, Mapping[str, str]], given_up: Set[str]) -> None:
        known: dict[str, dict[str, ContainerStatus]] = {}
        for container_id, labels in running.items():
            passed_on = container_id in self._left and container_id not in given_up
            if container_id in self._containers or container_id in self._done_with or passed_on:
                continue
            experiment_id, adopted_from = self._store_view.owner(labels)
            if not experiment_id or not self._holds.take(container_id):
                continue
            try:
                if experiment_id not in known:
                    known[experiment_id] = {status.id: status for status in self._registry.observed(experiment_id)}
                earlier = known[experiment_id].get(container_id)
                status = ContainerStatus(
                    id=container_id,
                    node=self._node,
                    state=ContainerState.STARTING,
                    started_at=earlier.started_at if earlier else self._experiments.now(),
                )
                self._registry.observe(experiment_id, status)
            except BaseException:
                self._holds.drop(container_id)
                raise
            self._left.discard(container_id)
            self._containers[container_id] = _Container(experiment_id, status, adopted_from)

    def _drain_where_unwanted(self, container_id: str, container: _Container, given_up: Set[str]) -> None:
        adopter = self._store_view.adopting.get(container.adopted_from)
        unwanted = bool(container.adopted_from) and adopter != container.experiment_id
        if (unwanted or container_id in given_up) and container.state is not ContainerState.DRAINING:
            self._set_state(container, ContainerState.DRAINING)

    def _set_state(self, container: _Container, state: ContainerState) -> None:
        status = container.status.model_copy(update={"state": state})
        self._registry.observe(container.experiment_id, status)
        container.status = status

    def ready(self, handle: ContainerHandle) -> None:
        """The container's manager takes jobs."""
        container = self._containers[handle.id]
        self._troubles.over(container.experiment_id)
        if container.state is ContainerState.STARTING:
            self._set_state(container, ContainerState.IDLE)

    def end(self, handle: ContainerHandle, *, planned: bool) -> None:
        """Kill the container, unless it is a user's own; one that never took jobs holds the next of its kind back."""
        container = self._containers.get(handle.id)
        if container is None:
            return
        if not container.adopted_from:
            self._kill(handle.id)
        self._registry.ended(container.experiment_id, handle.id)
        if not planned and container.state is ContainerState.STARTING:
            self._troubles.another(container.experiment_id)
        if not container.adopted_from or handle.id in self._memory.stopping():
            self._done_with.add(handle.id)
        self._let_go(handle.id)

    def _kill(self, container_id: str) -> None:
        try:
            self._client.api.kill(container_id, "SIGKILL")
        except APIError as error:
            if error.status_code not in _GONE_ALREADY:
                raise EngineUnavailableError(f"container {container_id} could not be ended: {error}") from error
        except (DockerException, RequestException) as error:
            raise EngineUnavailableError(f"container {container_id} could not be ended: {error}") from error

    def _let_go(self, container_id: str) -> None:
        del self._containers[container_id]
        self._holds.forget(container_id)

    def leave(self, handle: ContainerHandle) -> None:
        """The container stays for the next agent, which may be there already; a draining one is ended."""
        container = self._containers[handle.id]
        if container.state is ContainerState.DRAINING:
            self.end(handle, planned=True)
            return
        self._set_state(container, ContainerState.STARTING)
        del self._containers[handle.id]
        self._left.add(handle.id)
        self._holds.drop(handle.id)
