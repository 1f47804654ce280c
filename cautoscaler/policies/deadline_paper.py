"""``deadline-paper``: the deadline policy as the paper prints it (§V)."""

from __future__ import annotations

from typing import ClassVar

from cautoscaler.calculator import calculate
from cautoscaler.coherence import PAPER, CoherenceRule
from cautoscaler.decision import Suggestion
from cautoscaler.policies.registry import Policy, register
from cautoscaler.situation import Situation


@register
class DeadlinePaper(Policy):
    """The calculator's number, followed when three calculations in a row suggest the same direction.

    The paper leaves the period open; here it is that of every policy, a quarter of a task.
    """

    name: ClassVar[str] = "deadline-paper"
    summary: ClassVar[str] = "Finish at the deadline with as few containers as that takes, as the paper prints it."
    bounded_by_jobs: ClassVar[bool] = False
    reads: ClassVar[frozenset[str]] = frozenset({"margin"})

    def suggest(self, situation: Situation) -> Suggestion:
        """The work left divided by the time left."""
        return calculate(situation)

    def coherence(self, situation: Situation) -> CoherenceRule:
        """Three in a row, the most cautious of them."""
        return PAPER
