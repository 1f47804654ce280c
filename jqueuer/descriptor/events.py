"""A document as a stream of events, the value they build, and the line of a path among them.

YAML and the 2018 literals both become these events, so the guards against hostile documents stand in one place:
depth, size after aliases are expanded, duplicate keys.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, NamedTuple

from jqueuer.descriptor.faults import Path, fault, path_text
from jqueuer.kinds import word
from jqueuer.units import shown

MAX_DEPTH = 50
MAX_NODES = 2_000_000
MAX_DIGITS = 100
"""Of a number; enough for any seed, and every integer still has a finite float."""
MERGE_KEY = "<<"


class Kind(Enum):
    """What an event says."""

    LIST = "["
    MAPPING = "{"
    END = "]"
    SCALAR = "scalar"
    ALIAS = "*"


class Event(NamedTuple):
    """One step through a document."""

    kind: Kind
    line: int
    value: Any = None
    """A scalar's value; an alias's name."""
    anchor: str | None = None
    merges: bool = False
    """Whether a scalar, as a key, merges other mappings into its own (YAML's ``<<``)."""


@dataclass
class _Frame:
    """A list or mapping under construction."""

    container: list[Any] | dict[str, Any]
    anchor: str | None
    nodes: int = 1
    depth: int = 1
    key: str | None = None
    merging: bool = False
    merged: list[dict[str, Any]] = field(default_factory=list)

    @property
    def step(self) -> str | int | None:
        return len(self.container) if isinstance(self.container, list) else self.key


class _Anchored(NamedTuple):
    value: Any
    nodes: int
    depth: int


class _Builder:
    """Assembles the value; raises :class:`~jqueuer.errors.DescriptionError` at the first thing that cannot stand."""

    def __init__(self) -> None:
        self._stack: list[_Frame] = []
        self._anchors: dict[str, _Anchored | None] = {}
        self.result: Any = None

    def take(self, event: Event) -> None:
        if event.kind is Kind.END:
            self._close(event.line)
        elif event.kind is Kind.ALIAS:
            self._add(event, *self._anchored(event))
        elif event.kind is Kind.SCALAR:
            self._add(event, event.value, 1, 0)
        else:
            self._open(event)

    def _open(self, event: Event) -> None:
        if self._stack and isinstance(self._stack[-1].container, dict) and self._stack[-1].key is None:
            raise self._fault("a key must be text, not a list or a mapping", event.line)
        if len(self._stack) >= MAX_DEPTH:
            raise fault(f"nested more than {MAX_DEPTH} levels deep", line=event.line)
        if event.anchor is not None:
            self._anchors[event.anchor] = None
        self._stack.append(_Frame([] if event.kind is Kind.LIST else {}, event.anchor))

    def _close(self, line: int) -> None:
        frame = self._stack.pop()
        if isinstance(frame.container, dict):
            for mapping in frame.merged:
                for key, value in mapping.items():
                    frame.container.setdefault(key, value)
        end = Event(Kind.END, line, anchor=frame.anchor)
        self._add(end, frame.container, frame.nodes, frame.depth)

    def _add(self, event: Event, value: Any, nodes: int, depth: int) -> None:
        if event.anchor is not None:
            self._anchors[event.anchor] = _Anchored(value, nodes, depth)
        if not self._stack:
            self.result = value
            return
        frame = self._stack[-1]
        if len(self._stack) + depth > MAX_DEPTH:
            raise fault(f"nested more than {MAX_DEPTH} levels deep", line=event.line)
        frame.nodes += nodes
        frame.depth = max(frame.depth, depth + 1)
        if nodes > MAX_NODES or frame.nodes > MAX_NODES:
            raise self._fault(f"more than {MAX_NODES:,} values once aliases are expanded", event.line)
        if isinstance(frame.container, list):
            frame.container.append(value)
        elif frame.key is None:
            self._take_key(frame, event, value)
        else:
            self._take_value(frame, event, value)

    def _take_key(self, frame: _Frame, event: Event, key: Any) -> None:
        text = word(key)
        if not isinstance(text, str):
            raise self._fault(f"a key must be text, got {shown(key)}", event.line)
        frame.merging = event.merges
        if not event.merges and text in frame.container:
            raise self._fault(f"the key {shown(text)} occurs twice in one mapping", event.line)
        frame.key = text

    def _take_value(self, frame: _Frame, event: Event, value: Any) -> None:
        assert isinstance(frame.container, dict)  # noqa: S101 - only mappings have keys
        assert frame.key is not None  # noqa: S101
        if frame.merging:
            mappings = value if isinstance(value, list) else [value]
            if not all(isinstance(mapping, dict) for mapping in mappings):
                raise self._fault("'<<' merges mappings, expected an alias to one", event.line)
            frame.merged += mappings
        else:
            frame.container[frame.key] = value
        frame.key = None

    def _anchored(self, event: Event) -> _Anchored:
        anchored = self._anchors.get(event.value)
        if anchored is None:
            problem = "refers to itself" if event.value in self._anchors else "was never defined"
            raise self._fault(f"the alias *{event.value} {problem}", event.line)
        return anchored

    def _fault(self, message: str, line: int) -> Exception:
        steps = (frame.step for frame in self._stack)
        return fault(message, path=path_text(step for step in steps if step is not None), line=line)


def build(events: Iterable[Event]) -> Any:
    """The value the events describe; :class:`~jqueuer.errors.DescriptionError` for what is unsafe or ambiguous."""
    builder = _Builder()
    for event in events:
        builder.take(event)
    return builder.result


def locate(events: Iterable[Event], paths: Collection[Path]) -> dict[Path, int]:
    """The line of each path, or of the nearest thing around it that is in the document."""
    wanted = {path[:length] for path in paths for length in range(len(path) + 1)}
    found: dict[Path, int] = {}
    for path, line in _positions(events):
        if path in wanted:
            found.setdefault(path, line)
    return {path: _nearest(found, path) for path in paths}


def _positions(events: Iterable[Event]) -> Iterator[tuple[Path, int]]:
    """Where each key and each item of a list stands."""
    steps: list[Any] = []  # in each open level the index or key; None where a mapping waits for its next key
    for event in events:
        if event.kind is Kind.END:
            steps.pop()
        elif steps and steps[-1] is None:
            steps[-1] = word(event.value)
            yield tuple(steps), event.line
            continue
        else:
            if not steps or isinstance(steps[-1], int):
                yield tuple(steps), event.line
            if event.kind in (Kind.LIST, Kind.MAPPING):
                steps.append(0 if event.kind is Kind.LIST else None)
                continue
        if steps:
            steps[-1] = steps[-1] + 1 if isinstance(steps[-1], int) else None


def _nearest(found: dict[Path, int], path: Path) -> int:
    while path and path not in found:
        path = path[:-1]
    return found.get(path, 1)
