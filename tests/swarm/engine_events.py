"""What the engines saw: container events of all nodes, read from their own streams."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field
from typing import Any

from jqueuer import labels


@dataclass(frozen=True)
class ContainerEvent:
    """A container was created, started, killed, or died."""

    node: str
    action: str
    container: str
    signal: str
    monotonic_seconds: float


@dataclass
class EngineEvents:
    """Follows one experiment's containers on every node, from its creation on."""

    nodes: list[Any]
    experiment_id: str
    _events: list[ContainerEvent] = field(default_factory=list)
    _streams: list[Any] = field(default_factory=list)
    _threads: list[threading.Thread] = field(default_factory=list)

    def __enter__(self) -> EngineEvents:
        since = int(time.time()) - 1
        for node in self.nodes:
            stream = node.docker.events(
                since=since,
                decode=True,
                filters={"type": "container", "label": f"{labels.EXPERIMENT}={self.experiment_id}"},
            )
            thread = threading.Thread(target=self._follow, args=(node.name, stream), daemon=True)
            thread.start()
            self._streams.append(stream)
            self._threads.append(thread)
        return self

    def __exit__(self, *error: object) -> None:
        for stream in self._streams:
            stream.close()
        for thread in self._threads:
            thread.join(5)

    def _follow(self, node: str, stream: Any) -> None:
        for event in stream:
            attributes = event["Actor"]["Attributes"]
            self._events.append(
                ContainerEvent(
                    node=node,
                    action=event["Action"],
                    container=event["Actor"]["ID"][: labels.CONTAINER_ID_LENGTH],
                    signal=attributes.get("signal", ""),
                    monotonic_seconds=time.monotonic(),
                )
            )

    def of(self, *actions: str) -> list[ContainerEvent]:
        """The events of these kinds, in the order they were seen."""
        return [event for event in self._events if event.action in actions]

    def asked_to_stop(self) -> list[str]:
        """Containers that Swarm told to stop, in order; it may tell one several times."""
        told = [event.container for event in self.of("kill") if event.signal in ("23", "SIGURG")]
        return list(dict.fromkeys(told))
