"""Far from the end work matters only as a sum: jobs are taken together, in batches that get smaller towards the end.

Each batch is a share of what is then left, as in guided self-scheduling, so that the last are single jobs, whose
lengths decide how the end frays out. Of large batches only the sum is drawn, and the longest jobs each by itself: one
of them may outlast all.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Final

from cautoscaler.forecasting.draws import STRATA
from cautoscaler.forecasting.failing import Failures
from cautoscaler.forecasting.job_times import JobTimes

LARGEST_SHARE: Final = 0.5
"""Of what is left per container a batch holds at most so much …"""
SURELY: Final = 3.0
"""… and only so much that even one which takes so many standard deviations longer does not outlast the rest."""
LONG_JOBS: Final = 12
"""About so many of the longest of the jobs in large batches are drawn each by itself."""
LARGE: Final = 8
"""Sums of fewer jobs are drawn job by job: their distribution is nothing but their jobs'."""
_TRUNCATED: Final = 16


@dataclass(frozen=True, slots=True)
class Plan:
    """How to draw so many jobs: large batches first, then small ones, then single jobs."""

    medians: tuple[float, ...]
    """Of the large batches, seconds, without their longest jobs: such sums are skewed, about log-normal."""
    sigmas: tuple[float, ...]
    small: tuple[int, ...]
    """Where each small batch ends, counted in jobs; the first begins at 0."""
    singles: int
    long: float
    """Expected number of the longest among the jobs of the large batches."""
    ordinary: int
    """The strata that are not of the longest jobs …"""
    threshold: float
    """… nor the last stratum below this standard exponential."""
    places: tuple[int, ...]
    """For each stratum the batch before which a long job stands: batches hold their share of them."""


def plan(times: JobTimes, jobs: int, containers: int, failures: Failures) -> Plan:
    """How to draw so many jobs for at most so many containers."""
    sizes, singles = _sizes(jobs, containers, min(4.0, math.sqrt(times.variance) / times.mean_seconds))
    small = tuple(accumulate(size for size in sizes if size < LARGE))
    sizes = [size for size in sizes if size >= LARGE]
    batched = sum(sizes)
    if not batched:
        return Plan((), (), small, singles, 0.0, STRATA, 0.0, ())
    ordinary, threshold, share = _split(times, batched)
    mean, variance = _moments(times, ordinary, threshold)
    repeats = failures.repeats
    noise = variance + repeats * (1 + repeats) * failures.seconds**2
    kept = 1 - share
    reached = tuple(accumulate(sizes))
    mean += repeats * failures.seconds
    squares = tuple(math.log1p(noise / (size * kept * mean * mean)) for size in sizes)
    return Plan(
        medians=tuple(size * kept * mean * math.exp(-square / 2) for size, square in zip(sizes, squares, strict=True)),
        sigmas=tuple(map(math.sqrt, squares)),
        small=small,
        singles=singles,
        long=batched * share,
        ordinary=ordinary,
        threshold=threshold,
        places=tuple(bisect_left(reached, (stratum + 0.5) / STRATA * batched) for stratum in range(STRATA)),
    )


def _sizes(jobs: int, containers: int, variation: float) -> tuple[list[int], int]:
    """The sizes of the batches, and how many single jobs follow; ``variation`` is standard deviation ÷ mean."""
    sizes, left, margin = list[int](), jobs, SURELY * variation
    while left > 0:
        each = left / containers
        root = (math.sqrt(margin * margin + 4 * each) - margin) / 2  # of the size where size + margin × √size = each
        size = int(min(LARGEST_SHARE * each, root * root))
        if size < 2:
            break
        sizes.append(size)
        left -= size
    return sizes, left


def _split(times: JobTimes, batched: int) -> tuple[int, float, float]:
    """Where the longest jobs begin, as (strata below, exponential in the last stratum), and their share."""
    if times.quantiles[-1] <= times.quantiles[0] * 1.0001:
        return STRATA, math.inf, 0.0
    wanted = LONG_JOBS / batched * STRATA
    if wanted >= 1:
        strata = min(STRATA // 2, math.ceil(wanted))
        return STRATA - strata, 0.0, strata / STRATA
    return STRATA - 1, -math.log(wanted), LONG_JOBS / batched


def _moments(times: JobTimes, ordinary: int, threshold: float) -> tuple[float, float]:
    """Mean and variance of the jobs that are not of the longest."""
    values: Sequence[float] = times.quantiles[:ordinary]
    weight = 1.0
    if ordinary == STRATA - 1 and threshold > 0:
        below = -math.expm1(-threshold)
        truncated = [times.beyond(-math.log1p(-below * (index + 0.5) / _TRUNCATED)) for index in range(_TRUNCATED)]
        weight = below / _TRUNCATED
    else:
        truncated = []
    whole = len(values) + weight * len(truncated)
    mean = (sum(values) + weight * sum(truncated)) / whole
    squares = sum((value - mean) ** 2 for value in values) + weight * sum((value - mean) ** 2 for value in truncated)
    return mean, squares / whole
