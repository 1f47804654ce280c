"""Contention: jobs slow each other down, the more of them run."""

from __future__ import annotations

from itertools import pairwise
from typing import Annotated, Any

from pydantic import BeforeValidator, Field

from jqueuer.units import parse_duration


def _number(value: Any) -> Any:
    return parse_duration(value) if isinstance(value, str) else value


Factor = Annotated[float, BeforeValidator(_number), Field(gt=0)]

Contention = dict[Annotated[int, Field(ge=1)], Factor]
"""Busy containers and how long a job takes while so many are: factors, or durations (``{4: 41s, 10: 68s}``).

Only their ratios count: a scenario's durations are those with the fewest containers listed. Between two of them it is
interpolated; outside nothing changes any more. No entry, no contention.
"""


def slowness(contention: Contention, busy: int) -> float:
    """How many times as long a job takes while so many containers are busy."""
    if not contention:
        return 1.0
    counts = sorted(contention)
    reference = contention[counts[0]]
    if busy <= counts[0]:
        return 1.0
    for lower, upper in pairwise(counts):
        if busy <= upper:
            share = (busy - lower) / (upper - lower)
            return (contention[lower] + (contention[upper] - contention[lower]) * share) / reference
    return contention[counts[-1]] / reference
