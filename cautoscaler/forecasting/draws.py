"""Random draws that are the same every time: a forecast is a function of what was observed, and of nothing else.

Drawing the same for every number of containers is what makes two forecasts comparable (common random numbers). Within a
path draws are independent, since the sum of balanced ones would hardly vary; only the scales of the paths, which matter
most, have each quantile equally often.
"""

from __future__ import annotations

from functools import cache
from statistics import NormalDist
from typing import Final

STRATA: Final = 512
"""Quantiles are told apart so finely; what lies beyond the last is drawn from the tail."""
_DRAWS: Final = 1 << 15
_MULTIPLIER, _INCREMENT, _MASK = 6364136223846793005, 1442695040888963407, (1 << 64) - 1  # Knuth's MMIX


@cache
def strata() -> tuple[int, ...]:
    """Independent draws of a stratum, each equally likely."""
    state, drawn = 20_180_918, list[int]()
    for _ in range(_DRAWS):
        state = (state * _MULTIPLIER + _INCREMENT) & _MASK
        drawn.append((state >> 40) % STRATA)
    return tuple(drawn)


@cache
def doubled() -> tuple[int, ...]:
    """:func:`strata` twice in a row, so that a slice may go over its end."""
    return strata() * 2


@cache
def normal_strata() -> tuple[float, ...]:
    """The standard normal quantile in the middle of each stratum."""
    standard = NormalDist()
    return tuple(standard.inv_cdf((stratum + 0.5) / STRATA) for stratum in range(STRATA))


@cache
def normal_paths(paths: int) -> tuple[float, ...]:
    """One standard normal quantile per path, each equally likely, in an order that does not follow the paths'."""
    standard = NormalDist()
    step = next(step for step in (7, 11, 13, 17, 19, 23) if paths % step)
    return tuple(standard.inv_cdf((path * step % paths + 0.5) / paths) for path in range(paths))
