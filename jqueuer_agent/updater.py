"""The container updater: finds the experiments' containers on this node and gives each its manager (paper §VI-a)."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

import structlog

from jqueuer.errors import StoreUnavailableError
from jqueuer.ports import ContainerHandle, Containers, JobLedger

_DRAIN_LOOK_SECONDS: Final = 0.05

log = structlog.get_logger()


class ManagerProcess(Protocol):
    """The part of :class:`multiprocessing.Process` that the updater needs."""

    @property
    def exitcode(self) -> int | None:
        """None while it runs."""

    def terminate(self) -> None:
        """Ask it to finish its job and end."""

    def join(self, timeout: float | None = None) -> None:
        """Wait for its end."""


@dataclass
class _Managed:
    handle: ContainerHandle
    process: ManagerProcess
    ready: Any
    announced: bool = False
    stopping: bool = False


@dataclass
class ContainerUpdater:
    """Keeps one container manager per container; a manager that dies takes its container with it."""

    containers: Containers
    ledger: JobLedger
    start_manager: Callable[[ContainerHandle], tuple[ManagerProcess, Any]]
    """Starts a manager; returns its process and an event that is set once it takes jobs."""
    _managed: dict[str, _Managed] = field(default_factory=dict)

    def run(self, stop: threading.Event, pause_seconds: float) -> None:
        """Look, act, pause; when told to stop, let every container finish its job, then return."""
        while not stop.is_set():
            try:
                self.update()
            except Exception:
                log.exception("the look at the containers failed; looking again")
            stop.wait(pause_seconds)
        self.drain()

    def update(self) -> None:
        """One look at the containers."""
        self._collect_ended()
        for handle in self.containers.list():
            managed = self._managed.get(handle.id)
            if managed is None and handle.draining:
                self.containers.end(handle, planned=True)
            elif managed is None:
                self._managed[handle.id] = _Managed(handle, *self.start_manager(handle))
            elif handle.draining:
                self._stop(managed)
            elif not managed.announced and managed.ready.is_set():
                self.containers.ready(handle)
                managed.announced = True

    def _collect_ended(self) -> None:
        for container_id, managed in list(self._managed.items()):
            if managed.process.exitcode is None:
                continue
            managed.process.join()
            planned = managed.stopping and managed.process.exitcode in (0, -signal.SIGTERM)
            released = self.ledger.release(managed.handle.experiment_id, container_id)
            self.containers.end(managed.handle, planned=planned)
            del self._managed[container_id]
            if not planned:
                log.warning(
                    "a container died", container=container_id, exitcode=managed.process.exitcode, requeued=released
                )

    def _stop(self, managed: _Managed) -> None:
        if not managed.stopping:  # one that is not ready yet has no job, and may well be ended at once
            managed.stopping = True
            managed.process.terminate()

    def drain(self) -> None:
        """Let every container finish its job, then end it."""
        while self._managed:
            for managed in self._managed.values():
                self._stop(managed)
            next(iter(self._managed.values())).process.join(_DRAIN_LOOK_SECONDS)
            try:
                self._collect_ended()
            except StoreUnavailableError as error:
                log.warning("the store is away; looking again", error=str(error))
