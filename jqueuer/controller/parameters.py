"""From a description's ``policy`` to what CAutoScaler's policies read."""

from __future__ import annotations

from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

from cautoscaler import OnConflict, Parameters, Window
from jqueuer.model import Experiment


def parameters_of(description: Experiment, now: float) -> Parameters:
    """What the description says to its policy, at a moment: time zones have other offsets in summer than in winter."""
    policy = description.policy
    return Parameters(
        containers=policy.containers,
        confidence=policy.confidence,
        on_conflict=OnConflict(policy.on_conflict),
        budget_container_seconds=None if policy.budget is None else policy.budget.container_seconds(policy.price),
        price_per_container_hour=policy.price,
        jobs_per_container=policy.jobs_per_container,
        target_seconds=policy.target,
        windows=tuple(Window(window.start, window.to, window.containers) for window in policy.schedule or ()),
        utc_offset_seconds=utc_offset_seconds(policy.timezone, now) if policy.schedule else 0,
        up_cooldown_seconds=policy.up_cooldown,
        down_cooldown_seconds=policy.down_cooldown,
    )


def utc_offset_seconds(time_zone: str, now: float) -> int:
    """How far the clocks of a time zone, or of an offset such as ``+05:30``, are ahead of UTC at a moment.

    The name was looked up when the description was read, so the zone is there.
    """
    if time_zone[0] in "+-":
        offset = timedelta(hours=int(time_zone[1:3]), minutes=int(time_zone[4:6]))
        return int((-offset if time_zone[0] == "-" else offset).total_seconds())
    there = datetime.fromtimestamp(now, ZoneInfo(time_zone)).utcoffset()
    return 0 if there is None else int(there.total_seconds())
