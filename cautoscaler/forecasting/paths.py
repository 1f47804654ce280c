"""The work still to be done, drawn many times: each path is one way it may turn out.

A path does not depend on the number of containers, so forecasts for different numbers are compared on the same draws.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import accumulate

from cautoscaler.forecasting.batches import Plan, plan
from cautoscaler.forecasting.draws import STRATA, doubled, normal_paths, normal_strata
from cautoscaler.forecasting.failing import Failures
from cautoscaler.forecasting.job_times import JobTimes


@dataclass(frozen=True, slots=True)
class Path:
    """One way the rest may turn out; seconds, without contention."""

    scale: float
    """The true mean ÷ the forecast mean on this path: it multiplies all durations."""
    work: tuple[float, ...]
    """What is still to be begun, in order; each goes to the container that is free first."""
    running: tuple[float, ...]
    """What is left of each running job, and of the attempts that follow if this one fails."""


def draw(
    times: JobTimes,
    *,
    queued: int,
    running_seconds: tuple[float, ...],
    containers: int,
    failures: Failures,
    paths: int,
) -> tuple[Path, ...]:
    """So many paths for so many queued jobs, at most ``containers`` at a time."""
    planned = plan(times, queued, containers, failures)
    ranks = tuple(times.rank(age) for age in running_seconds)
    drawn = []
    for path, normal in enumerate(normal_paths(paths)):
        source = _Source(path)
        work = _work(times, planned, failures, source)
        running = _residuals(times, running_seconds, ranks, failures, source)
        drawn.append(Path(times.scale(normal), tuple(work), tuple(running)))
    return tuple(drawn)


class _Source:
    """The draws of one path, one after the other."""

    def __init__(self, path: int) -> None:
        self._strata = doubled()
        self._half = len(self._strata) // 2
        self._at = path * 7919 % self._half

    def take(self, count: int) -> tuple[int, ...]:
        """So many strata."""
        if count > self._half:
            return self._strata[: self._half] + self.take(count - self._half)
        start, self._at = self._at, (self._at + count) % self._half
        return self._strata[start : start + count]

    def normal(self) -> float:
        """A standard normal draw."""
        return normal_strata()[self.take(1)[0]]

    def exponential(self) -> float:
        """A standard exponential draw."""
        return -math.log((self.take(1)[0] + 0.5) / STRATA)

    def repeats(self, count: int, failures: Failures) -> dict[int, int]:
        """Which of so many jobs fail and are run again, and how often."""
        threshold, found = failures.share * STRATA, dict[int, int]()
        again = [index for index, stratum in enumerate(self.take(count)) if stratum < threshold]
        for number in range(1, failures.most_attempts):
            if not again:
                break
            found.update(dict.fromkeys(again, number))
            again = [index for index, stratum in zip(again, self.take(len(again)), strict=True) if stratum < threshold]
        return found


def _work(times: JobTimes, planned: Plan, failures: Failures, source: _Source) -> list[float]:
    small = _small(times, planned, failures, source)
    return _large(times, planned, source) + small + _jobs(times, planned.singles, failures, source)


def _large(times: JobTimes, planned: Plan, source: _Source) -> list[float]:
    if not planned.medians:
        return []
    normal, exp, strata = normal_strata(), math.exp, source.take(len(planned.medians))
    drawn = zip(planned.medians, planned.sigmas, strata, strict=True)
    work = [median * exp(sigma * normal[stratum]) for median, sigma, stratum in drawn]
    if planned.long:
        count = max(0, round(planned.long + math.sqrt(planned.long) * source.normal()))
        places = sorted((planned.places[stratum] for stratum in source.take(count)), reverse=True)
        for place, duration in zip(places, _long(times, planned, count, source), strict=True):
            work.insert(place, duration)
    return work


def _small(times: JobTimes, planned: Plan, failures: Failures, source: _Source) -> list[float]:
    if not planned.small:
        return []
    reached = list(accumulate(_jobs(times, planned.small[-1], failures, source), initial=0.0))
    starts = (0, *planned.small)
    return [reached[stop] - reached[start] for start, stop in zip(starts, planned.small, strict=False)]


def _jobs(times: JobTimes, count: int, failures: Failures, source: _Source) -> list[float]:
    """Jobs with all their attempts: none begins before the one before it has failed."""
    quantiles, strata = times.quantiles, source.take(count)
    work = [quantiles[stratum] for stratum in strata]
    if times.tail and STRATA - 1 in strata:
        for index, stratum in enumerate(strata):
            if stratum == STRATA - 1:
                work[index] = times.beyond(source.exponential())
    if failures.happen:
        for index, repeats in source.repeats(count, failures).items():
            work[index] += repeats * failures.seconds
    return work


def _long(times: JobTimes, planned: Plan, count: int, source: _Source) -> list[float]:
    first, quantiles = planned.ordinary, times.quantiles
    strata = (first + stratum * (STRATA - first) // STRATA for stratum in source.take(count))
    return [
        times.beyond(planned.threshold + source.exponential()) if stratum == STRATA - 1 else quantiles[stratum]
        for stratum in strata
    ]


def _residuals(
    times: JobTimes, ages: tuple[float, ...], ranks: tuple[int, ...], failures: Failures, source: _Source
) -> list[float]:
    """What is left of jobs of these ages, given that they have not ended yet."""
    quantiles, left = times.quantiles, list[float]()
    repeats = source.repeats(len(ages), failures) if failures.happen else {}
    for index, (age, rank, stratum) in enumerate(zip(ages, ranks, source.take(len(ages)), strict=True)):
        if rank >= STRATA:  # longer than any: as long again as the tail says
            duration = age * math.exp(times.tail * source.exponential())
        else:
            found = rank + stratum * (STRATA - rank) // STRATA
            duration = times.beyond(source.exponential()) if found == STRATA - 1 and times.tail else quantiles[found]
        left.append(max(0.0, duration - age) + repeats.get(index, 0) * failures.seconds)
    return left
