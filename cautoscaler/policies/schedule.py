"""``schedule``: by the time of day."""

from __future__ import annotations

from typing import ClassVar

from cautoscaler.decision import Basis, Suggestion
from cautoscaler.parameters import Window
from cautoscaler.policies.registry import Policy, register
from cautoscaler.situation import Situation
from cautoscaler.wording import plural

DAY_SECONDS = 86_400


@register
class Schedule(Policy):
    """The number of the first window that holds; outside all of them ``containers``, or the minimum.

    A window holds from its beginning until just before its end; one that ends before it begins goes over midnight.
    """

    name: ClassVar[str] = "schedule"
    summary: ClassVar[str] = "Given numbers of containers at given times of the day; the minimum outside of them."
    reads: ClassVar[frozenset[str]] = frozenset({"schedule", "timezone", "containers"})
    needs: ClassVar[str] = "schedule"

    def suggest(self, situation: Situation) -> Suggestion:
        """The number of this time of day."""
        parameters = situation.parameters
        second = int((situation.now + parameters.utc_offset_seconds) % DAY_SECONDS) % DAY_SECONDS
        inputs = {"time_of_day": clock(second)}
        window = next((window for window in parameters.windows if holds(window, second)), None)
        if window is not None:
            hours = f"{clock(window.from_second)} to {clock(window.to_second)}"
            reason = f"it is {clock(second)}, and from {hours} there are {plural(window.containers, 'container')}"
            return Suggestion(window.containers, Basis.SCHEDULE, reason, inputs)
        outside = situation.minimum if parameters.containers is None else parameters.containers
        which = "the minimum of " if parameters.containers is None else ""
        reason = f"it is {clock(second)}, outside the schedule: {which}{plural(outside, 'container')}"
        return Suggestion(outside, Basis.SCHEDULE, reason, inputs)

    def running(self, situation: Situation) -> int:
        """The requested containers: the time of day can be judged before the first one runs."""
        return situation.requested


def holds(window: Window, second: int) -> bool:
    """Whether this second of the day is in the window."""
    if window.from_second < window.to_second:
        return window.from_second <= second < window.to_second
    return second >= window.from_second or second < window.to_second


def clock(second: int) -> str:
    """A second of the day as a clock shows it: ``08:30``, with the seconds where there are any."""
    minutes, seconds = divmod(second, 60)
    return f"{minutes // 60:02d}:{minutes % 60:02d}" + (f":{seconds:02d}" if seconds else "")
