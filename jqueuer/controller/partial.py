"""``on_conflict: partial``: the jobs give way. What is not begun in time, or within the budget, is cancelled."""

from __future__ import annotations

import cautoscaler
from cautoscaler import OnConflict, Situation
from cautoscaler.wording import amount, plural
from jqueuer.controller.commands import CancelQueued, Commands, Journal
from jqueuer.controller.observation import ControllerState, Observation
from jqueuer.controller.situation import policy_name, situation_of
from jqueuer.records import ExperimentRecord, JournalEntry

KEY = "on_conflict"


def give_up_jobs(state: ControllerState, observation: Observation, record: ExperimentRecord) -> Commands:
    """Cancel what waits once the deadline has passed or the budget is spent; running jobs are paid for, and finish."""
    if record.description.policy.on_conflict != OnConflict.PARTIAL.value or not observation.counts.queued:
        return ()
    if KEY not in cautoscaler.get(policy_name(record.description)).reads:
        return ()
    why = _why(situation_of(state, observation, record))
    if not why:
        return ()
    reason = f"{why}: {plural(observation.counts.queued, 'job')} not begun yet are cancelled, as on_conflict says"
    return CancelQueued(reason), Journal(JournalEntry(at=observation.now, action="give-up", reason=reason))


def _why(situation: Situation) -> str:
    if situation.deadline_at is not None and situation.now >= situation.deadline_at:
        return "the deadline has passed"
    budget = situation.parameters.budget_container_seconds
    if budget is not None and situation.container_seconds >= budget:
        return f"the budget of {amount(budget / 3600)} container-hours is spent"
    return ""
