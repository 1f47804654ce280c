"""What an experiment's description says to its policy, beyond the policy's name."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class OnConflict(StrEnum):
    """What gives way where deadline, budget and jobs cannot all be had."""

    LATE = "late"
    """The deadline: all jobs are run, within the budget, as early as that goes."""
    BUDGET = "budget"
    """The budget: it is overdrawn as far as the deadline asks for it."""
    PARTIAL = "partial"
    """The jobs: those not done by the deadline, or when the budget is spent, are cancelled."""


@dataclass(frozen=True, slots=True)
class Window:
    """A part of the day with its number of containers; one that ends before it begins goes over midnight."""

    from_second: int
    """Seconds since midnight."""
    to_second: int
    containers: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameters:
    """Every policy takes those it knows; ``docs/policies.md`` has the table."""

    containers: int | None = None
    """``fixed``: the number; ``schedule``: the number outside its windows."""
    confidence: float = 0.95
    """``deadline-forecast``: the probability with which the deadline is to be met."""
    on_conflict: OnConflict = OnConflict.LATE
    budget_container_seconds: float | None = None
    price_per_container_hour: float | None = None
    """For people; in the currency of theirs."""
    jobs_per_container: float = 1.0
    """``queue-length``: jobs waiting or running for which one container is wanted."""
    target_seconds: float | None = None
    """``target-duration``: how long the experiment should take from its start."""
    windows: tuple[Window, ...] = ()
    """``schedule``: the first that holds decides."""
    utc_offset_seconds: int = 0
    """``schedule``: of the clock its windows mean."""
    up_cooldown_seconds: float | None = None
    """For policies whose numbers flutter: so long after a change nothing is scaled up; None is the policy's own."""
    down_cooldown_seconds: float | None = None
    """The same for scaling down."""


DEFAULTS = Parameters()
