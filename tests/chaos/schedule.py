"""Which faults come, in which order: drawn from a seed before anything runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from typing import Final, TypeVar

SEVERAL: Final = 2
"""Every kind comes so often at least, where there are faults enough."""

_Target = TypeVar("_Target")


@dataclass(frozen=True)
class Kind:
    """A kind of fault."""

    name: str
    weight: int
    """How often it comes beside the others."""
    sparing: bool = False
    """Costs no attempt where it is over before a lease is."""


@dataclass(frozen=True)
class Fault:
    """One fault of a schedule; what exactly it hits depends on what is there then, and on `pick`."""

    number: int
    kind: Kind
    pick: float
    """From 0 up to, not including, 1."""

    def choose(self, targets: Sequence[_Target]) -> _Target:
        """The one that is hit; `targets` are in an order that is the same for the same targets."""
        return targets[int(self.pick * len(targets))]


def schedule(seed: int, faults: int, kinds: Sequence[Kind]) -> tuple[Fault, ...]:
    """So many faults: every kind several times, the others by weight, in a random order."""
    random = Random(seed)
    sure = [kind for kind in kinds for _ in range(min(SEVERAL, faults // len(kinds)))]
    others = random.choices(kinds, [kind.weight for kind in kinds], k=faults - len(sure))
    drawn = [*sure, *others]
    random.shuffle(drawn)
    return tuple(Fault(number, kind, random.random()) for number, kind in enumerate(drawn, 1))
