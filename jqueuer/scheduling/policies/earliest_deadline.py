"""``earliest-deadline``: priority first, then the earliest deadline, then who came first."""

from __future__ import annotations

import math
from typing import Any, ClassVar

from jqueuer.scheduling.demand import Demand
from jqueuer.scheduling.policies.registry import SharingPolicy, register
from jqueuer.units import format_duration


@register
class EarliestDeadline(SharingPolicy):
    """Experiments without a deadline come last among equals in priority."""

    name: ClassVar[str] = "earliest-deadline"

    def rank(self, demand: Demand) -> Any:
        """By priority, deadline, receipt; the id settles what is left."""
        deadline = math.inf if demand.deadline_at is None else demand.deadline_at
        return -demand.priority, deadline, demand.created_at, demand.experiment_id

    def why(self, first: Demand, second: Demand) -> str:
        """The first of the criteria in which they differ."""
        if first.priority != second.priority:
            return f"priority {first.priority} over {second.priority}"
        if first.deadline_at is not None and second.deadline_at is None:
            return "it has a deadline"
        if first.deadline_at is not None and second.deadline_at is not None and first.deadline_at < second.deadline_at:
            earlier = max(1.0, float(round(second.deadline_at - first.deadline_at)))
            return f"its deadline is {format_duration(earlier)} earlier"
        return "received earlier"
