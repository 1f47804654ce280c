"""What has been measured of an experiment's jobs: the durations as a histogram, contention, failures, start delays."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

BUCKETS_PER_OCTAVE = 8
"""Neighbouring buckets are 9 % apart; within one the mean is exact, since its seconds are added up."""
SHORTEST_SECONDS = 0.001
"""Durations below it share the first bucket."""


def bucket_of(seconds: float) -> int:
    """The bucket of a duration: 0 up to a millisecond, then eight for every doubling."""
    if seconds <= SHORTEST_SECONDS:
        return 0
    return 1 + int(BUCKETS_PER_OCTAVE * math.log2(seconds / SHORTEST_SECONDS))


@dataclass(frozen=True, slots=True)
class Bucket:
    """Durations of about the same length: how many, and their sum."""

    count: int
    seconds: float

    @property
    def mean_seconds(self) -> float:
        """Their mean."""
        return self.seconds / self.count


@dataclass(frozen=True, slots=True)
class Durations:
    """A histogram of durations whose size does not grow with their number."""

    buckets: tuple[Bucket, ...] = ()
    """The ones that hold something, shortest first."""

    @classmethod
    def of(cls, seconds: Iterable[float]) -> Durations:
        """The histogram of these durations."""
        return cls._of(Bucket(1, duration) for duration in seconds)

    @classmethod
    def merged(cls, histograms: Iterable[Durations]) -> Durations:
        """One histogram of all their durations."""
        return cls._of(bucket for histogram in histograms for bucket in histogram.buckets)

    @classmethod
    def _of(cls, buckets: Iterable[Bucket]) -> Durations:
        sums: dict[int, tuple[int, float]] = {}
        for bucket in buckets:
            count, total = sums.get(index := bucket_of(bucket.mean_seconds), (0, 0.0))
            sums[index] = count + bucket.count, total + bucket.seconds
        return cls(tuple(Bucket(*sums[index]) for index in sorted(sums)))

    @property
    def count(self) -> int:
        """How many durations."""
        return sum(bucket.count for bucket in self.buckets)

    @property
    def seconds(self) -> float:
        """Their sum."""
        return sum(bucket.seconds for bucket in self.buckets)


NO_DURATIONS = Durations()


@dataclass(frozen=True, slots=True)
class Concurrency:
    """Jobs that ran while so many of the experiment's containers were busy: contention shows in their means."""

    busy: int
    jobs: int
    seconds: float


def busy_between(at_start: int, at_end: int) -> int:
    """How many containers were busy during an attempt, as far as its start and its end tell; itself included."""
    return (at_start + at_end + 1) // 2


@dataclass(frozen=True, slots=True)
class Measured:
    """All that is known of an experiment's jobs and containers from watching them."""

    durations: Durations = NO_DURATIONS
    """Of the accomplished attempts, from claim to outcome."""
    concurrency: tuple[Concurrency, ...] = ()
    """The same attempts by the containers that were busy meanwhile (:func:`busy_between`), fewest first."""
    unsuccessful: int = 0
    """Attempts that ended otherwise: failed, timed out, or lost with their container."""
    unsuccessful_seconds: float = 0.0
    start_seconds: float | None = None
    """From asking for a container until it takes jobs; None before the first came up."""


NOTHING_MEASURED = Measured()
