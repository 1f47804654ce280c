"""The container calculator: how many containers finish the jobs left before the deadline (paper §V-A)."""

from __future__ import annotations

import math

from cautoscaler.decision import Basis, Scalar, Suggestion
from cautoscaler.situation import Situation
from cautoscaler.wording import amount, plural

MOST = 1_000_000_000
"""Stands for "no number would do"; every maximum is below it."""


def whole(quotient: float) -> int:
    """Whole containers for a quotient: rounded up, at least 1, at most :data:`MOST`."""
    # 3 × 0.1 ÷ 0.3 is a hair above 1 in binary; one container is meant, not two
    return max(1, math.ceil(min(quotient, MOST) * (1 - 1e-12)))


def need(jobs_left: int, task_seconds: float, tasks_per_job: int, seconds_left: float) -> int:
    """``ceil(jobs_left × task_seconds × tasks_per_job ÷ seconds_left)`` (paper §V-A).

    0 without jobs; at least 1 with any, even where tasks take no measurable time; :data:`MOST` without time.
    """
    if jobs_left <= 0:
        return 0
    if seconds_left <= 0:
        return MOST
    return whole(jobs_left * task_seconds * tasks_per_job / seconds_left)


def calculate(situation: Situation) -> Suggestion:
    """The paper's number for a situation, and for those the paper leaves open:

    - no jobs left: 0, so that the limits make it the minimum;
    - no deadline: the maximum;
    - the deadline has passed, or less time is left than the margin: the maximum.
    """
    left, inputs = situation.seconds_left, calculation_inputs(situation)
    if situation.jobs_left <= 0:
        return Suggestion(0, Basis.NO_JOBS_LEFT, "no jobs are left", inputs)
    if left is None:
        return Suggestion(situation.maximum, Basis.NO_DEADLINE, "without a deadline the maximum is used", inputs)
    if left <= 0:
        return Suggestion(situation.maximum, Basis.LATE, f"{passed(situation)}, so the maximum is used", inputs)
    needed = need(situation.jobs_left, situation.task_seconds, situation.tasks_per_job, left)
    basis, known = (Basis.MONITORED, "mean") if situation.monitored else (Basis.INITIAL, "estimate")
    reason = f"{work(situation)} ({known}) ÷ {amount(left)} s left = {plural(needed, 'container')}"
    return Suggestion(needed, basis, reason, inputs)


def calculation_inputs(situation: Situation) -> dict[str, Scalar]:
    """What the calculation rests on, for the journal."""
    left = situation.seconds_left
    return {
        "jobs_left": situation.jobs_left,
        "jobs_accomplished": situation.jobs_accomplished,
        "task_seconds": round(situation.task_seconds, 3),
        "tasks_per_job": situation.tasks_per_job,
        "seconds_left": None if left is None else round(left, 3),
        "margin_seconds": situation.margin_seconds,
    }


def work(situation: Situation) -> str:
    """The work left, in words: ``500 jobs × 1 task × 120 s``."""
    jobs, tasks = plural(situation.jobs_left, "job"), plural(situation.tasks_per_job, "task")
    return f"{jobs} × {tasks} × {amount(situation.task_seconds)} s"


def passed(situation: Situation) -> str:
    """That the time is up, in words; a margin is named where only that is used up."""
    late = -(situation.seconds_left or 0.0) - situation.margin_seconds
    if late < 0:
        return f"the margin of {amount(situation.margin_seconds)} s before the deadline has begun"
    return f"the deadline passed {amount(late)} s ago"
