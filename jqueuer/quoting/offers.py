"""What a quote says: one offer per number of containers, and what they come to."""

from __future__ import annotations

from dataclasses import dataclass

from jqueuer.errors import JQueuerError


@dataclass(frozen=True, slots=True)
class Offer:
    """What is to be expected of one number of containers, all asked for at the beginning; seconds from the receipt."""

    containers: int
    p50_seconds: float
    p80_seconds: float
    p95_seconds: float
    probability: float | None
    """To keep the deadline, margin taken off; None without one."""
    container_hours: float
    cost: float | None
    """In the currency of the price; None without one."""


@dataclass(frozen=True, slots=True)
class Quote:
    """Whether an experiment can be promised, and what it would take; seconds from the receipt."""

    feasible: bool
    reason: str
    jobs: int
    confidence: float
    deadline_seconds: float | None
    margin_seconds: float
    earliest_deadline_seconds: float | None
    """The earliest deadline that is feasible, in round numbers; None where the budget does not pay for any."""
    containers: int | None
    """The fewest that keep deadline and budget; None where none do, or there is nothing to keep."""
    policy: str
    policy_containers: int | None
    """What the policy would begin with; None where a policy service decides."""
    budget_container_hours: float | None
    price_per_container_hour: float | None
    start_seconds: float | None
    """How long containers took to start; None where that was never measured."""
    history_jobs: int
    basis: str
    curve: tuple[Offer, ...]
    """Fewest containers first."""


class InfeasibleError(JQueuerError):
    """The experiment cannot be promised as it is described; the quote has the counter-offer."""

    def __init__(self, quote: Quote) -> None:
        self.quote = quote
        super().__init__(f"not feasible: {quote.reason}")
