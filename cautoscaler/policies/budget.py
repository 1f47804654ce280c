"""``budget``: as early as the budget allows.

The jobs cost the same on one container as on ten. What more containers cost more is starting them, and idling at the
end, where the last jobs do not end together: half a job for every container but one. So many are affordable as leave
the rest of the budget enough for the rest of the jobs.
"""

from __future__ import annotations

import math
from typing import ClassVar

from cautoscaler.calculator import MOST, calculate
from cautoscaler.decision import Basis, Suggestion
from cautoscaler.parameters import OnConflict
from cautoscaler.policies.registry import Policy, register
from cautoscaler.situation import Situation
from cautoscaler.wording import amount, plural


@register
class Budget(Policy):
    """The most containers with which the rest of the budget pays for the rest of the jobs.

    Where it does not pay for them on any number, none is started any more; once it is spent one container goes on
    (``on_conflict: late``), or none (``partial``). With ``on_conflict: budget`` there are never fewer than the deadline
    asks for.
    """

    name: ClassVar[str] = "budget"
    summary: ClassVar[str] = "As early as a budget of container-hours or money allows, with no more than it pays for."
    cools_down: ClassVar[bool] = True
    up_cooldown_seconds: ClassVar[float] = 60.0
    reads: ClassVar[frozenset[str]] = frozenset({"budget", "price", "on_conflict", "margin"})
    needs: ClassVar[str] = "budget"

    def suggest(self, situation: Situation) -> Suggestion:
        """What is affordable, or what the rule of conflict says."""
        budget_seconds = situation.parameters.budget_container_seconds
        if budget_seconds is None:
            return Suggestion(situation.maximum, Basis.BUDGET, "no budget is given, so the maximum is used")
        rest_seconds, work_seconds = budget_seconds - situation.container_seconds, work_left_seconds(situation)
        inputs = {
            "jobs_left": situation.jobs_left,
            "budget_container_seconds": round(budget_seconds, 3),
            "container_seconds": round(situation.container_seconds, 3),
            "work_seconds": round(work_seconds, 3),
        }
        if situation.jobs_left <= 0:
            return Suggestion(0, Basis.NO_JOBS_LEFT, "no jobs are left", inputs)
        needed = affordable(situation, rest_seconds - work_seconds)
        rest, work = f"{_hours(rest_seconds)} of the budget", f"{_hours(work_seconds)} of {_jobs(situation)}"
        if needed >= 1:
            reason = f"{rest} are left for {work}: {_most(needed)} with starting and idling"
        elif rest_seconds > 0:
            needed = max(1, situation.containers.idle + situation.containers.busy + situation.containers.starting)
            reason = f"{rest} are left, too little for {work}: no further container is started"
        elif situation.parameters.on_conflict is OnConflict.PARTIAL:
            needed, reason = 0, f"the budget is spent, with {work} left: those are not run"
        else:
            needed, reason = 1, f"the budget is spent, with {work} left: one container goes on"
        if situation.parameters.on_conflict is OnConflict.BUDGET and situation.deadline_at is not None:
            asked = calculate(situation)
            if asked.needed > needed:
                reason = f"{reason}; the deadline may overdraw it: {asked.reason}"
                return Suggestion(asked.needed, asked.basis, reason, inputs)
        return Suggestion(needed, Basis.BUDGET, reason, inputs)


def affordable(situation: Situation, spare_seconds: float) -> int:
    """The most containers whose starting and idling cost no more than is to spare; 0 where not even one is."""
    start_seconds = situation.measured.start_seconds or 0.0
    idle_seconds = job_seconds(situation) / 2
    # those that start are begun and have to be paid for in any case
    there = situation.containers.idle + situation.containers.busy + len(situation.starting_seconds)
    spare_seconds -= sum(max(0.0, start_seconds - age) for age in situation.starting_seconds)
    if spare_seconds < 0:
        return 0
    number = _quotient(spare_seconds + idle_seconds, idle_seconds)
    if number > there:
        number = _quotient(spare_seconds + idle_seconds + there * start_seconds, idle_seconds + start_seconds)
    return number


def work_left_seconds(situation: Situation) -> float:
    """What the jobs left will still cost; of a running one its age is paid for."""
    each = job_seconds(situation)
    paid = sum(min(each, age) for age in situation.running_seconds)
    return max(0.0, situation.jobs_left * each - paid)


def job_seconds(situation: Situation) -> float:
    """What an accomplished job has cost so far, unsuccessful attempts included; before the first, the estimate."""
    measured = situation.measured
    if count := measured.durations.count:
        return (measured.durations.seconds + measured.unsuccessful_seconds) / count
    return situation.task_seconds * situation.tasks_per_job


def _quotient(seconds: float, each_seconds: float) -> int:
    return MOST if seconds >= MOST * each_seconds else math.floor(seconds / each_seconds * (1 + 1e-12))


def _hours(seconds: float) -> str:
    return f"{amount(seconds / 3600)} container-hours"


def _jobs(situation: Situation) -> str:
    return f"work in {plural(situation.jobs_left, 'job')}"


def _most(number: int) -> str:
    return "any number of containers" if number >= MOST else f"at most {plural(number, 'container')}"
