"""How much longer jobs take when more containers work: containers share disks, memory and network.

The means measured at different numbers of busy containers are fitted by a power of that number. Its exponent is 0
without contention and 1 where another container adds nothing at all; what few jobs say is not believed at once.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from cautoscaler.measured import Concurrency

PRIOR_EXPONENT_SPREAD: Final = 0.3
LARGEST_EXPONENT: Final = 1.5
CLEARLY: Final = 1.5
"""Only an exponent of so many of its standard deviations is more than what chance makes of equal durations."""
LOCAL_SPREAD: Final = 0.1
"""Of the logarithm of the means about that power …"""
REACH: Final = 0.15
"""… which numbers of containers share whose logarithms are no farther apart."""
_LEAST_SECONDS: Final = 1e-6


@dataclass(frozen=True, slots=True)
class Contention:
    """Durations at one number of busy containers against those measured so far."""

    exponent: float = 0.0
    reference: float = 1.0
    local: tuple[tuple[float, float, int], ...] = ()
    """Where it was measured: (logarithm of the number, logarithm of mean ÷ power, jobs)."""
    doubt: float = 0.0
    """So many jobs must say that a number differs from the power before it is half believed."""

    def factor(self, busy: int) -> float:
        """By how much jobs take longer (or shorter) with so many busy containers than those measured did."""
        return 1.0 if self.exponent == 0.0 else self._at(max(1, busy)) / self.reference

    def _at(self, busy: int) -> float:
        fewest = self.local[0][0] if self.local else 0.0
        at = max(math.log(busy), fewest)  # how much faster jobs are with fewer than ever were busy, nobody knows
        weights = [jobs * math.exp(-(((x - at) / REACH) ** 2) / 2) for x, _, jobs in self.local]
        off = sum(weight * more for weight, (_, more, _) in zip(weights, self.local, strict=True))
        return math.exp(at * self.exponent + off / (sum(weights) + self.doubt))


def fit(concurrency: Sequence[Concurrency], *, variation: float) -> Contention:
    """The contention that the measured means show; ``variation`` is standard deviation ÷ mean of the durations."""
    points = [
        (math.log(max(1, level.busy)), math.log(level.seconds / level.jobs), level.jobs)
        for level in concurrency
        if level.jobs and level.seconds > _LEAST_SECONDS
    ]
    jobs = sum(number for _, _, number in points)
    if not jobs:
        return Contention()
    middle_x = sum(x * number for x, _, number in points) / jobs
    middle_y = sum(y * number for _, y, number in points) / jobs
    xx = sum(number * (x - middle_x) ** 2 for x, _, number in points)
    xy = sum(number * (x - middle_x) * (y - middle_y) for x, y, number in points)
    variance = max(variation, 0.05) ** 2
    information = xx + variance / PRIOR_EXPONENT_SPREAD**2
    exponent = min(LARGEST_EXPONENT, xy / information)
    if exponent < CLEARLY * math.sqrt(variance / information):
        return Contention()
    local = tuple((x, y - middle_y - exponent * (x - middle_x), number) for x, y, number in points)
    found = Contention(exponent, 1.0, local, variance / LOCAL_SPREAD**2)
    reference = sum(number * found.factor(round(math.exp(x))) for x, _, number in points) / jobs
    return replace(found, reference=reference)
