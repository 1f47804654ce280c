"""How much room there is on each node, now and once what drains is gone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from jqueuer.scheduling.cluster import Node
from jqueuer.scheduling.constraints import matches
from jqueuer.scheduling.demand import Demand

_NANO = 1_000_000_000


class Size(NamedTuple):
    """CPU in billionths of a core, as Swarm counts it, and memory in bytes; whole numbers, so that sums are exact."""

    cpu: int
    memory: int

    @classmethod
    def of(cls, cpu_cores: float, memory_bytes: int) -> Size:
        """From cores and bytes."""
        return cls(round(cpu_cores * _NANO), memory_bytes)

    def times_in(self, room: Size) -> int:
        """How often this fits into the room; what is not asked for does not limit."""
        pairs = zip(self, room, strict=True)
        return max(0, min(available // asked for asked, available in pairs if asked))

    def fits(self, room: Size) -> bool:
        """Whether it fits once."""
        return self.times_in(room) > 0

    def plus(self, other: Size, times: int = 1) -> Size:
        """The sum with so many of another."""
        return Size(self.cpu + times * other.cpu, self.memory + times * other.memory)


@dataclass(slots=True)
class Claim:
    """One demand while the cluster is being shared."""

    demand: Demand
    size: Size
    nodes: tuple[str, ...]
    """Those that satisfy its constraints."""
    placed: Counter[str] = field(default_factory=Counter)
    """Containers that stay, or go there now."""
    granted: int = 0
    later: int = 0
    """Granted, but their room is still held by what drains or has to give way."""

    @classmethod
    def of(cls, demand: Demand, nodes: Iterable[Node]) -> Claim:
        """Nothing granted yet, nothing placed."""
        names = tuple(node.name for node in nodes if matches(demand.constraints, node.attributes))
        return cls(demand, Size.of(demand.cpu_cores, demand.memory_bytes), names)

    @property
    def minimum(self) -> int:
        """What it gets before others get more than theirs."""
        return min(self.demand.minimum, self.demand.wanted)

    @property
    def containers(self) -> int:
        """How many it has or can start now."""
        return self.placed.total()

    def victims(self) -> list[str]:
        """Where Swarm may end a container when asked for one fewer: on a node with most of the service's."""
        most = max(self.placed.values())
        return sorted(node for node, count in self.placed.items() if count == most)


class Room:
    """The nodes' free room: ``now``, and ``later``, when what drains is gone and what is promised has come."""

    def __init__(self, nodes: Sequence[Node]) -> None:
        self.empty = {
            node.name: Size.of(node.cpu_cores - node.foreign_cpu_cores, node.memory_bytes - node.foreign_memory_bytes)
            for node in nodes
        }
        self._standing = dict(self.empty)
        """Without what is not seen there yet."""
        self.now = dict(self.empty)
        self.later = dict(self.empty)

    def stand(self, claim: Claim, node: str, count: int) -> None:
        """Containers are seen there, and stay."""
        self._take(self._standing, claim, node, count)
        self.hold(claim, node, count)

    def hold(self, claim: Claim, node: str, count: int = 1) -> None:
        """Containers will be there at once."""
        self._take(self.now, claim, node, count)
        self._take(self.later, claim, node, count)

    def drain(self, claim: Claim, node: str, count: int) -> None:
        """Containers are seen there, and will go."""
        self._take(self._standing, claim, node, count)
        self._take(self.now, claim, node, count)

    def leave(self, claim: Claim, node: str, count: int = 1) -> None:
        """Containers that stand there will go."""
        self._take(self.later, claim, node, -count)

    def promise(self, claim: Claim, node: str) -> None:
        """A container will come there."""
        self._take(self.later, claim, node, 1)

    def place_now(self, claim: Claim) -> str | None:
        """The node where Swarm would put one more: of those with room, one with fewest of the service's.

        None where none has room, or where it might end up in room that is meant for another: Swarm knows nothing of
        what drains for whom, nor of what others are about to start.
        """
        fitting = [node for node in claim.nodes if claim.size.fits(self._as_swarm_sees_it(claim, node))]
        likely = self._fewest(claim, fitting)
        if not all(self._free(claim, node) for node in likely):
            return None
        return self._roomiest(claim, likely, self.now)

    def place_started(self, claim: Claim) -> str | None:
        """The node where one that was requested before is probably being started."""
        free = [node for node in claim.nodes if self._free(claim, node)]
        return self._roomiest(claim, self._fewest(claim, free), self.now)

    def place_later(self, claim: Claim) -> str | None:
        """The node with most room for one more once what drains is gone; None where none will have any."""
        fitting = [node for node in claim.nodes if claim.size.fits(self.later[node])]
        return self._roomiest(claim, fitting, self.later)

    def least_use(self, claim: Claim, other: Claim) -> str:
        """Where one fewer of the other helps the claim least: of equals nobody knows which Swarm chooses."""

        def helps(node: str) -> bool:
            return node in claim.nodes and claim.size.fits(self.later[node].plus(other.size))

        return min(other.victims(), key=lambda node: (helps(node), node))

    def _free(self, claim: Claim, node: str) -> bool:
        return claim.size.fits(self.now[node]) and claim.size.fits(self.later[node])

    def _as_swarm_sees_it(self, claim: Claim, node: str) -> Size:
        new = claim.placed[node] - claim.demand.in_place.get(node, 0)
        return self._standing[node].plus(claim.size, -max(0, new))

    @staticmethod
    def _fewest(claim: Claim, nodes: list[str]) -> list[str]:
        fewest = min((claim.placed[node] for node in nodes), default=0)
        return [node for node in nodes if claim.placed[node] == fewest]

    @staticmethod
    def _roomiest(claim: Claim, nodes: list[str], room: dict[str, Size]) -> str | None:
        return max(sorted(nodes), key=lambda node: claim.size.times_in(room[node]), default=None)

    @staticmethod
    def _take(room: dict[str, Size], claim: Claim, node: str, count: int) -> None:
        # a node that takes no containers any more may still hold some
        if node in room:
            room[node] = room[node].plus(claim.size, -count)
