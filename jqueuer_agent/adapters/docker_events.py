"""What runs on this node's engine: its event stream, and a listing now and then in case an event was missed.

The memory is apart from the threads that feed it. A listing takes time; what happened meanwhile is applied to it after
its arrival, so neither a container that began nor one that died in between is got wrong.
"""

from __future__ import annotations

import contextlib
import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

import docker
import requests
import structlog
import urllib3
from docker.errors import DockerException

from jqueuer.errors import EngineUnavailableError
from jqueuer.labels import CONTAINER_ID_LENGTH, STOP_SIGNAL

RESYNC_SECONDS: Final = 3.0

_RECONNECT_SECONDS: Final = 0.5
_STOP_SIGNALS: Final = frozenset({STOP_SIGNAL, STOP_SIGNAL.removeprefix("SIG"), str(signal.Signals[STOP_SIGNAL].value)})
_EVENTS: Final = {"type": "container", "event": ["start", "die", "kill"]}
_ERRORS: Final = (DockerException, requests.RequestException, urllib3.exceptions.HTTPError, OSError)

log = structlog.get_logger()


@dataclass(frozen=True)
class Event:
    """One event of a container."""

    action: str
    """``start``, ``die`` or ``kill``."""
    id: str
    attributes: Mapping[str, str]
    """The container's labels among them; for ``kill`` the ``signal``."""
    at_nanoseconds: int
    """By the engine's clock, since the epoch."""


class Memory:
    """The containers that run, by id, with their labels; and which of them were told to stop."""

    def __init__(self) -> None:
        self._running: dict[str, Mapping[str, str]] = {}
        self._stopping: set[str] = set()
        self._meanwhile: list[Event] | None = None
        self._lock = threading.Lock()

    def running(self) -> dict[str, Mapping[str, str]]:
        """Labels by container."""
        with self._lock:
            return dict(self._running)

    def stopping(self) -> set[str]:
        """Those that were sent the stop signal and run on."""
        with self._lock:
            return self._stopping & self._running.keys()

    def happened(self, event: Event) -> None:
        """Something happened just now."""
        with self._lock:
            if self._meanwhile is not None:
                self._meanwhile.append(event)
            self._apply(event)

    def remembered(self, event: Event) -> None:
        """The engine tells of something older: who ran then may not run now, but who was told to stop still was."""
        if event.action == "kill":
            self.happened(event)

    def _apply(self, event: Event) -> None:
        if event.action == "start":
            self._running[event.id] = event.attributes
        elif event.action == "die":
            self._running.pop(event.id, None)
            self._stopping.discard(event.id)
        elif event.attributes.get("signal") in _STOP_SIGNALS:
            self._stopping.add(event.id)

    @contextlib.contextmanager
    def listing(self) -> Iterator[Callable[[Mapping[str, Mapping[str, str]]], None]]:
        """Ask for a listing inside; call what this gives with the answer."""
        with self._lock:
            self._meanwhile = []

        def arrived(containers: Mapping[str, Mapping[str, str]]) -> None:
            with self._lock:
                self._running = dict(containers)
                for event in self._meanwhile or ():
                    self._apply(event)
                self._stopping &= self._running.keys()

        try:
            yield arrived
        finally:
            with self._lock:
                self._meanwhile = None


class EngineWatch:
    """Keeps a :class:`Memory` true, with two threads of its own."""

    def __init__(self, url: str, memory: Memory, changed: Callable[[], None], resynced: Callable[[], None]) -> None:
        self._url = url
        self._memory = memory
        self._changed = changed
        self._resynced = resynced
        self._stop = threading.Event()
        self._resync_now = threading.Event()
        self._last_seconds = 1  # the engine remembers a few hundred events; it tells them to who asks since when
        self._stream: Any = None
        self._threads = [
            threading.Thread(target=self._follow, name="engine-events", daemon=True),
            threading.Thread(target=self._resync, name="engine-resync", daemon=True),
        ]

    def start(self) -> None:
        """Begin; :class:`~jqueuer.errors.EngineUnavailableError` where the engine does not answer."""
        with engine_errors(self._url), contextlib.closing(connect(self._url)) as client:
            self._list(client)
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """End the threads."""
        self._stop.set()
        self._resync_now.set()
        if self._stream is not None:
            with contextlib.suppress(*_ERRORS):
                self._stream.close()

    def _follow(self) -> None:
        while not self._stop.is_set():
            try:
                with contextlib.closing(connect(self._url)) as client:
                    self._read(client)
            except _ERRORS as error:
                log.warning("the engine's events broke off; following them again", error=str(error))
            self._stop.wait(_RECONNECT_SECONDS)

    def _read(self, client: docker.DockerClient) -> None:
        opened_at = time.time_ns()
        self._stream = client.api.events(since=self._last_seconds, filters=_EVENTS, decode=True)
        self._resync_now.set()
        for raw in self._stream:
            event = _event(raw)
            self._last_seconds = max(self._last_seconds, event.at_nanoseconds // 1_000_000_000)
            if event.at_nanoseconds < opened_at:
                self._memory.remembered(event)
            else:
                self._memory.happened(event)
            self._changed()

    def _resync(self) -> None:
        while not self._stop.is_set():
            self._resync_now.wait(RESYNC_SECONDS)
            self._resync_now.clear()
            try:
                with contextlib.closing(connect(self._url)) as client:
                    self._list(client)
            except _ERRORS as error:
                log.warning("the engine does not answer; asking again", error=str(error))
            self._resynced()

    def _list(self, client: docker.DockerClient) -> None:
        with self._memory.listing() as arrived:
            found = client.api.containers()
            arrived({entry["Id"][:CONTAINER_ID_LENGTH]: entry["Labels"] or {} for entry in found})
        self._changed()


def connect(url: str) -> docker.DockerClient:
    """A client that speaks the engine's own version."""
    return docker.DockerClient(base_url=url, version="auto", timeout=30)


def engine_name(url: str) -> str:
    """What the engine, which is the node, is called; :class:`EngineUnavailableError` where it does not answer."""
    with engine_errors(url), contextlib.closing(connect(url)) as client:
        return str(client.info()["Name"])


@contextlib.contextmanager
def engine_errors(url: str) -> Iterator[None]:
    """Turns the many ways an engine can be away into one."""
    try:
        yield
    except _ERRORS as error:
        raise EngineUnavailableError(f"the container engine at {url} does not answer: {error}") from error


def _event(raw: Mapping[str, Any]) -> Event:
    actor = raw["Actor"]
    return Event(raw["Action"], actor["ID"][:CONTAINER_ID_LENGTH], actor.get("Attributes") or {}, raw["timeNano"])
