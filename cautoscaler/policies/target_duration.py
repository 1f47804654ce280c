"""``target-duration``: the whole experiment within a given time from its start."""

from __future__ import annotations

from typing import ClassVar

from cautoscaler.calculator import need, work
from cautoscaler.coherence import PAPER, CoherenceRule
from cautoscaler.decision import Basis, Suggestion
from cautoscaler.policies.registry import Policy, register
from cautoscaler.situation import Situation
from cautoscaler.wording import amount, plural


@register
class TargetDuration(Policy):
    """The paper's formula, with the time left until the target in place of that until the deadline.

    No job ends sooner than it takes, so less time than one job's is counted as one job's: near the target, at it and
    past it that is one container for each job left, and a missed target does not ask for the maximum.
    """

    name: ClassVar[str] = "target-duration"
    summary: ClassVar[str] = "Finish within a given time of the start with as few containers as that takes."
    cools_down: ClassVar[bool] = True
    reads: ClassVar[frozenset[str]] = frozenset({"target"})
    needs: ClassVar[str] = "target"

    def suggest(self, situation: Situation) -> Suggestion:
        """The work left divided by the time left, which is at least that of one job."""
        target_seconds = situation.parameters.target_seconds
        if target_seconds is None:
            return Suggestion(situation.maximum, Basis.TARGET, "no target is given, so the maximum is used")
        left = target_seconds - situation.elapsed_seconds
        inputs = {
            "jobs_left": situation.jobs_left,
            "task_seconds": round(situation.task_seconds, 3),
            "tasks_per_job": situation.tasks_per_job,
            "target_seconds": target_seconds,
            "target_seconds_left": round(left, 3),
        }
        if situation.jobs_left <= 0:
            return Suggestion(0, Basis.NO_JOBS_LEFT, "no jobs are left", inputs)
        if left <= situation.task_seconds * situation.tasks_per_job:
            when = f"{amount(left)} s are left" if left > 0 else f"the target passed {amount(-left)} s ago"
            reason = f"{when}, no more than a job takes: one container for each of {plural(situation.jobs_left, 'job')}"
            return Suggestion(situation.jobs_left, Basis.TARGET, reason, inputs)
        needed = need(situation.jobs_left, situation.task_seconds, situation.tasks_per_job, left)
        reason = f"{work(situation)} ÷ {amount(left)} s left to the target = {plural(needed, 'container')}"
        return Suggestion(needed, Basis.TARGET, reason, inputs)

    def coherence(self, situation: Situation) -> CoherenceRule:
        """Three in a row, as in the paper."""
        return PAPER
