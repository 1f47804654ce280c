"""The one place where a number of containers meets its limits."""

from __future__ import annotations

from dataclasses import dataclass

from cautoscaler.wording import plural


@dataclass(frozen=True, slots=True)
class Clamped:
    """A number within its limits, what it was before, and why it changed."""

    original: int
    value: int
    reason: str = ""
    """Empty where nothing changed."""


def clamp(number: int, *, minimum: int, maximum: int, jobs_left: int | None = None) -> Clamped:
    """Bring a number of containers into [minimum, maximum]; where these contradict each other the maximum wins.

    With ``jobs_left`` the number is not above that either (nor below the minimum): a container more than there are
    jobs could never work.
    """
    if number > maximum:
        limited, reason = maximum, f"limited to the maximum of {maximum}"
    elif number < minimum:
        limited = min(minimum, maximum)
        reason = f"raised to the minimum of {limited}"
    else:
        limited, reason = number, ""
    if jobs_left is not None and limited > max(minimum, jobs_left):
        limited = max(minimum, jobs_left)
        reason = f"limited to {limited} with {plural(jobs_left, 'job')} left"
    return Clamped(number, limited, reason)
