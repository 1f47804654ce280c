"""The container updater: finds the experiments' containers on this node and gives each its manager (paper §VI-a)."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

import structlog

from jqueuer.errors import EngineUnavailableError, JQueuerError
from jqueuer.ports import ContainerHandle, Containers, JobLedger

_DRAIN_LOOK_SECONDS: Final = 0.05
_AFTER_FAILURE_SECONDS: Final = 0.5
_KILL_SECONDS: Final = 5.0
_LAST_WORDS_SECONDS: Final = 5.0
"""A manager whose container is gone may know how its job ended, and has so long to record it."""
_HANGS_SECONDS: Final = 5.0
"""A manager that was told to stop and holds no job has so long to do it."""
_AWAY_SECONDS: Final = 60.0
"""An agent that goes, and has only the store and the engine left to tell, gives up when they are away for so long."""

log = structlog.get_logger()


class ManagerProcess(Protocol):
    """The part of :class:`multiprocessing.Process` that the updater needs."""

    @property
    def exitcode(self) -> int | None:
        """None while it runs."""

    def terminate(self) -> None:
        """Ask it to finish its job and end."""

    def kill(self) -> None:
        """End it at once."""

    def join(self, timeout: float | None = None) -> None:
        """Wait for its end."""


@dataclass
class _Managed:
    handle: ContainerHandle
    process: ManagerProcess
    ready: Any
    announced: bool = False
    stopping_since: float | None = None
    killed: bool = False
    """It hung, without a job, when it was to stop."""
    gone_at: float | None = None
    """When its container was first missed, by the monotonic clock."""

    @property
    def stopping(self) -> bool:
        return self.stopping_since is not None

    @property
    def ended_as_asked(self) -> bool:
        return self.stopping and (self.killed or self.process.exitcode in (0, -signal.SIGTERM))


@dataclass
class ContainerUpdater:
    """Keeps one container manager per container; neither lives on without the other."""

    containers: Containers
    ledger: JobLedger
    start_manager: Callable[[ContainerHandle], tuple[ManagerProcess, Any]]
    """Starts a manager; returns its process and an event that is set once it takes jobs."""
    wake: threading.Event = field(default_factory=threading.Event)
    """Set by whoever knows that there is something new to see."""
    looked: Callable[[], None] = lambda: None
    """Called at every look, for those who watch whether this goes on."""
    _managed: dict[str, _Managed] = field(default_factory=dict)
    _all_ended: bool = True
    _left: int = 0

    def run(self, stop: threading.Event, pause_seconds: float) -> None:
        """Look, act, pause; when told to stop, let every container finish its job, then return."""
        while not stop.is_set():
            self._pause(pause_seconds if self._succeeds(self.update) else _AFTER_FAILURE_SECONDS)
        self.drain()

    def _pause(self, seconds: float) -> None:
        self.wake.wait(seconds)
        self.wake.clear()

    def _succeeds(self, look: Callable[[], object]) -> bool:
        self._all_ended = True
        try:
            self.looked()
            look()
        except JQueuerError as error:
            log.warning("the look at the containers failed; looking again", error=str(error))
            return False
        except Exception:
            log.exception("the look at the containers failed; looking again")
            return False
        return self._all_ended

    def update(self) -> None:
        """One look at the containers."""
        self._collect_ended()
        handles = self._look()
        together = self._left_behind_together(handles)
        for handle in handles:
            managed = self._managed.get(handle.id)
            if managed is None:
                self._begin(handle, together=together)
            elif handle.draining:
                self._stop(managed)
            elif not managed.announced and managed.ready.is_set():
                self.containers.ready(handle)
                managed.announced = True

    def _look(self) -> Collection[ContainerHandle]:
        handles = {handle.id: handle for handle in self.containers.list()}
        for container_id, managed in list(self._managed.items()):
            if container_id in handles:
                managed.handle = handles[container_id]
            else:
                self._bury(managed)
        return handles.values()

    def _left_behind_together(self, handles: Collection[ContainerHandle]) -> bool:
        """Whether an agent that died left several jobs in containers that outlived it: not all of them killed it."""
        new = (handle for handle in handles if handle.id not in self._managed)
        return sum(self.ledger.job_of(handle.experiment_id, handle.id) is not None for handle in new) > 1

    def _begin(self, handle: ContainerHandle, *, together: bool) -> None:
        # Nobody works in it: what an agent that died had begun there is given back.
        if requeued := self.ledger.release(handle.experiment_id, handle.id, together=together):
            log.warning("a job was left behind in a container", container=handle.id, requeued=requeued)
        if handle.draining:
            self._end(handle, planned=True)
            return
        self._managed[handle.id] = _Managed(handle, *self.start_manager(handle))

    def _bury(self, managed: _Managed) -> None:
        """The container went away under its manager, or with a job that could not be ended alone."""
        if managed.gone_at is None:
            managed.gone_at = time.monotonic()
            if not managed.stopping:  # an idle one would wait for a job that it cannot run
                managed.process.terminate()
        if managed.process.exitcode is None and time.monotonic() - managed.gone_at < _LAST_WORDS_SECONDS:
            return
        managed.process.kill()
        managed.process.join(_KILL_SECONDS)
        self._part(managed, planned=False)

    def _collect_ended(self) -> None:
        for managed in list(self._managed.values()):
            if managed.process.exitcode is not None:
                managed.process.join()
                self._part(managed, planned=managed.ended_as_asked)

    def _part(self, managed: _Managed, *, planned: bool) -> None:
        handle = managed.handle
        # Its commands end before its job is offered again; an engine that is away delays that until the lease runs out.
        if self._end(handle, planned=planned):
            requeued = self.ledger.release(handle.experiment_id, handle.id)
            del self._managed[handle.id]
            if not planned:
                log.warning(
                    "a container died", container=handle.id, exitcode=managed.process.exitcode, requeued=requeued
                )

    def _end(self, handle: ContainerHandle, *, planned: bool) -> bool:
        try:
            self.containers.end(handle, planned=planned)
        except EngineUnavailableError as error:  # tried again at the next look; the others need not wait for it
            log.warning("a container could not be ended yet", container=handle.id, error=str(error))
            self._all_ended = False
            return False
        return True

    def _stop(self, managed: _Managed) -> None:
        now, handle = time.monotonic(), managed.handle
        if managed.stopping_since is None:  # one that is not ready yet has no job, and may well be ended at once
            managed.stopping_since = now
            managed.process.terminate()
        elif managed.process.exitcode is None and now - managed.stopping_since > _HANGS_SECONDS and not managed.killed:
            managed.stopping_since = now  # with a job it is asked again later
            if self.ledger.job_of(handle.experiment_id, handle.id) is None:
                log.warning("a container manager hangs, without a job; it is ended", container=handle.id)
                managed.killed = True
                managed.process.kill()

    def drain(self) -> None:
        """Let every container finish its job; then end it, or leave it where the next agent can take it over."""
        farewell_ends = last_success = time.monotonic()
        farewell_ends += self.containers.farewell_seconds
        while True:
            self._left = 0
            succeeded = self._succeeds(lambda: self._part_from_all(staying=time.monotonic() < farewell_ends))
            if succeeded and not self._left:
                return
            if succeeded or any(managed.process.exitcode is None for managed in self._managed.values()):
                last_success = time.monotonic()
            elif time.monotonic() - last_success > _AWAY_SECONDS:
                log.error("going without a farewell: what is left will be found by the next agent")
                return
            self._pause(_DRAIN_LOOK_SECONDS if succeeded else _AFTER_FAILURE_SECONDS)

    def _part_from_all(self, *, staying: bool) -> None:
        outlived = self.containers.farewell_seconds > 0
        for managed in list(self._managed.values()):
            self._stop(managed)
            if managed.process.exitcode is None:
                continue
            managed.process.join()
            if not managed.ended_as_asked:
                self._part(managed, planned=False)
                continue
            self.ledger.release(managed.handle.experiment_id, managed.handle.id)
            if not outlived:
                self.containers.leave(managed.handle)
            del self._managed[managed.handle.id]
        self._left += len(self._managed)
        if outlived:
            self._part_from_unmanaged(staying=staying)

    def _part_from_unmanaged(self, *, staying: bool) -> None:
        for handle in self._look():
            if handle.id in self._managed:
                continue
            if handle.draining:
                self._end(handle, planned=True)
            elif staying:
                self._left += 1
            else:
                self.containers.leave(handle)
