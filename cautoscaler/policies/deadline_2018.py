"""``deadline-2018``: the deadline policy as the authors' code of 2018 had it, which their recorded runs follow."""

from __future__ import annotations

import math
from typing import ClassVar

from cautoscaler.calculator import calculate, passed, whole, work
from cautoscaler.coherence import CODE_2018, CoherenceRule
from cautoscaler.decision import Basis, Suggestion
from cautoscaler.policies.registry import Policy, register
from cautoscaler.situation import Situation
from cautoscaler.wording import amount, plural


@register
class Deadline2018(Policy):
    """The paper's number corrected by the pace so far; four in a row, the first of which counts.

    The minimum does not hold at the start, *running* means requested, and past the deadline the division is dropped.
    """

    name: ClassVar[str] = "deadline-2018"
    summary: ClassVar[str] = "The same with the pace correction of the authors' code; for reproducing recorded runs."
    minimum_at_start: ClassVar[bool] = False
    bounded_by_jobs: ClassVar[bool] = False
    reads: ClassVar[frozenset[str]] = frozenset({"margin"})

    def suggest(self, situation: Situation) -> Suggestion:
        """The work left divided by the time left, and more if the pace so far would not do."""
        suggestion, left = calculate(situation), situation.seconds_left
        if suggestion.basis is Basis.LATE:
            return _undivided(situation, suggestion)
        if suggestion.basis is Basis.MONITORED and left is not None:
            return _corrected(situation, suggestion, left)
        return suggestion

    def coherence(self, situation: Situation) -> CoherenceRule:
        """Four in a row, the first of them."""
        return CODE_2018

    def running(self, situation: Situation) -> int:
        """The requested containers: Swarm's *desired* replicas."""
        return situation.requested

    def period_seconds(self, situation: Situation) -> float:
        """A quarter of the estimate in whole seconds, rounded up."""
        return float(math.ceil(situation.estimate_seconds / 4))


def _undivided(situation: Situation, suggestion: Suggestion) -> Suggestion:
    needed = whole(situation.jobs_left * situation.task_seconds * situation.tasks_per_job)
    reason = f"{passed(situation)}: {work(situation)} undivided = {plural(needed, 'container')}"
    return Suggestion(needed, suggestion.basis, reason, suggestion.inputs)


def _corrected(situation: Situation, suggestion: Suggestion, left: float) -> Suggestion:
    rest_seconds = situation.elapsed_seconds * situation.jobs_left / situation.jobs_accomplished
    inputs = {**suggestion.inputs, "pace_seconds": round(rest_seconds, 3)}
    if rest_seconds <= left:
        return Suggestion(suggestion.needed, suggestion.basis, suggestion.reason, inputs)
    needed = max(suggestion.needed, whole(rest_seconds * suggestion.needed / left))
    reason = (
        f"{suggestion.reason}; at the pace so far the rest takes {amount(rest_seconds)} s, "
        f"so {plural(needed, 'container')}"
    )
    return Suggestion(needed, suggestion.basis, reason, inputs)
