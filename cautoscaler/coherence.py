"""The coherence index: how many calculations in a row suggested the same direction (paper §V-B).

::

                   suggestion above the requested number
       ┌────────┐ ───────────────────────────────► ┌────────┐ ──┐ another one: index + 1
       │ NOWHERE│                                  │   UP   │ ◄─┘
       │ index 0│ ◄─────────────────────────────── │ index n│ ── index reaches act_at: act, then NOWHERE
       └────────┘   the requested number is right  └────────┘
        ▲    │                                        ▲  │ an opposite suggestion starts over
        │    │   suggestion below                     │  ▼ with index 1
        │    └──────────────────────────────────► ┌────────┐
        └──────────────────────────────────────── │  DOWN  │  … as UP
                                                  └────────┘

The paper does not say what a suggestion of exactly the requested number does. Here it ends the row, since the row is
of calculations that "are suggesting the same action"; the authors' recorded run agrees (at 17.8 min a 7 is followed by
an 8, which was running, and the 6 that follows is what they scaled to).
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Direction(Enum):
    """Where a suggestion points, seen from the requested number."""

    NOWHERE = 0
    UP = 1
    DOWN = -1


@dataclass(frozen=True, slots=True)
class CoherenceRule:
    """When a row of suggestions is long enough, and which of its numbers counts."""

    act_at: int
    frozen_target: bool = False
    """Keep the first suggestion of the row instead of the most cautious one."""
    down_at: int | None = None
    """When a row downwards is long enough, where that is not the same."""

    def long_enough(self, direction: Direction) -> int:
        """So many in a row are acted on."""
        return self.act_at if self.down_at is None or direction is Direction.UP else self.down_at


PAPER = CoherenceRule(act_at=3)
"""Act when the index is three; of agreeing suggestions keep the lesser (up) or the greater (down)."""
CODE_2018 = CoherenceRule(act_at=4, frozen_target=True)
"""Act when the index is above three, on the number suggested first."""
AT_ONCE = CoherenceRule(act_at=1)
"""Act on every suggestion: for policies whose numbers do not flutter."""
UP_AT_ONCE = CoherenceRule(act_at=1, down_at=3)
"""A container too few may cost the deadline, one too many only its time: for policies that weigh this."""


@dataclass(frozen=True, slots=True)
class CoherenceIndex:
    """The row so far."""

    direction: Direction = Direction.NOWHERE
    index: int = 0
    target: int = 0


NO_ROW = CoherenceIndex()


def advance(
    coherence: CoherenceIndex, rule: CoherenceRule, *, requested: int, suggested: int
) -> tuple[CoherenceIndex, int | None]:
    """Add a suggestion to the row; the number to act on once the row is long enough, which also ends it."""
    direction = Direction((suggested > requested) - (suggested < requested))
    if direction is Direction.NOWHERE:
        return NO_ROW, None
    if direction is coherence.direction:
        target = _agreed(direction, rule, coherence.target, suggested)
        row = CoherenceIndex(direction, coherence.index + 1, target)
    else:
        row = CoherenceIndex(direction, 1, suggested)
    return (NO_ROW, row.target) if row.index >= rule.long_enough(direction) else (row, None)


def _agreed(direction: Direction, rule: CoherenceRule, kept: int, suggested: int) -> int:
    if rule.frozen_target:
        return kept
    return min(kept, suggested) if direction is Direction.UP else max(kept, suggested)
