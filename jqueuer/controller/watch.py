"""What the watchdog remembers between two looks."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Idling:
    """A container that idled at every look of late, while jobs waited."""

    container: str
    since: float
    looks: int
    claimed_at: float | None = None
    """When it last claimed a job: one of milliseconds is over before anybody sees it."""


@dataclass(frozen=True, slots=True)
class Watch:
    """Jobs wait and containers idle: since when, and what was done about it."""

    claims: int = 0
    """Attempts begun so far, as of the last look."""
    still_since: float | None = None
    """Since when none was begun; None while there is nothing to watch."""
    refilled: bool = False
    """The queue was filled again since."""
    idle: tuple[Idling, ...] = ()


NOTHING_TO_WATCH = Watch()
