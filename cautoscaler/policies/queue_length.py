"""``queue-length``: one container for so many jobs."""

from __future__ import annotations

from typing import ClassVar

from cautoscaler.calculator import whole
from cautoscaler.decision import Basis, Suggestion
from cautoscaler.policies.registry import Policy, register
from cautoscaler.situation import Situation
from cautoscaler.wording import amount, plural


@register
class QueueLength(Policy):
    """The jobs waiting or running ÷ ``jobs_per_container``, rounded up; durations and deadline do not matter.

    With one job per container the number would fall with every job that ends, so it falls once a minute at most.
    """

    name: ClassVar[str] = "queue-length"
    summary: ClassVar[str] = "One container for every so many jobs waiting or running, deadline or not."
    cools_down: ClassVar[bool] = True
    down_cooldown_seconds: ClassVar[float] = 60.0
    reads: ClassVar[frozenset[str]] = frozenset({"jobs_per_container"})

    def suggest(self, situation: Situation) -> Suggestion:
        """The quotient, rounded up."""
        jobs, share = situation.jobs_left, situation.parameters.jobs_per_container
        inputs = {"jobs_left": jobs, "jobs_per_container": share}
        if jobs <= 0:
            return Suggestion(0, Basis.NO_JOBS_LEFT, "no jobs are left", inputs)
        needed = whole(jobs / share)
        reason = (
            f"{plural(jobs, 'job')} waiting or running ÷ {amount(share)} per container = {plural(needed, 'container')}"
        )
        return Suggestion(needed, Basis.QUEUE, reason, inputs)
