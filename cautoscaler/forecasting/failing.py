"""Attempts that fail and are run again: how likely that is, how often, and what each costs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from cautoscaler.measured import Measured

LIKELIEST: Final = 0.9
_PRIOR_SHARE, _PRIOR_ATTEMPTS = 0.02, 1.0


@dataclass(frozen=True, slots=True)
class Failures:
    """Of any attempt, independently of the others."""

    share: float = 0.0
    """The chance that it fails."""
    most_attempts: int = 1
    """So many a job has in all."""
    seconds: float = 0.0
    """What one that fails takes."""

    @property
    def happen(self) -> bool:
        """Whether any job is run again."""
        return self.share > 0 and self.most_attempts > 1

    @property
    def repeats(self) -> float:
        """Attempts that fail and are followed by another, per job, on average."""
        return sum(self.share**number for number in range(1, min(self.most_attempts, 100)))


def failures(measured: Measured, most_attempts: int, mean_seconds: float) -> Failures:
    """What is known of them: nothing fails until something has."""
    if not measured.unsuccessful or most_attempts <= 1:
        return Failures()
    attempts = measured.durations.count + measured.unsuccessful
    share = (measured.unsuccessful + _PRIOR_SHARE * _PRIOR_ATTEMPTS) / (attempts + _PRIOR_ATTEMPTS)
    seconds = measured.unsuccessful_seconds / measured.unsuccessful
    return Failures(min(share, LIKELIEST), most_attempts, seconds or mean_seconds)
