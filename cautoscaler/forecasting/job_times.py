"""How long the next job will take: the posterior predictive distribution of an experiment's job durations.

Three sources, each as good as it gets:

- the user's estimate, or the durations of earlier experiments of the same kind: a prior that fades as jobs finish;
- the durations so far. The jobs that still run count as well, as longer than their age: the first to finish are the
  short ones, and who learns from these alone forecasts too early (Kaplan and Meier 1958);
- a log-normal fitted to both, which stands in while there are few, and says how the tail goes on beyond what was seen
  (with Hill's estimator, 1975, once there are enough).
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Final

from cautoscaler.forecasting.draws import STRATA
from cautoscaler.measured import Durations

ESTIMATE_SPREAD: Final = 0.7
"""Standard deviation of the logarithm of true mean ÷ estimate: one in three is off by more than a factor of 2."""
HISTORY_SPREAD: Final = 0.15
"""The same for the mean of earlier experiments of the same kind."""
HISTORY_JOBS: Final = 20.0
"""All of their jobs weigh as much as so many of this experiment's own."""
PRIOR_SIGMA: Final = 0.7
"""Spread of the logarithm of durations about their mean, as long as nobody knows better …"""
PRIOR_SIGMA_JOBS: Final = 2.0
"""… which weighs as much as so many jobs."""
WIDEST: Final = 1.5
"""A wider log-normal, fitted to a few jobs of very different lengths, would speak of others that nobody has seen."""
FITTED_JOBS: Final = 2.0
"""The fitted log-normal weighs as much as so many jobs beside those that were seen."""
FADING_JOBS: Final = 40.0
"""Where so many were seen it weighs half of that, and then less and less."""
UNSEEN_JOBS: Final = 0.2
"""So many are thought to be longer than any that was seen."""
TAIL_JOBS: Final = 4.0
"""Its tail weighs as much as so many jobs beside the longest seen."""
SMALL_SAMPLE: Final = 4.0
"""Where as few were seen, the mean is half as well known as their variance says."""
MOST_LEAN: Final = 0.06
LONGEST_TAIL: Final = 0.9
"""Of log-excess: a mean of 1 or more has no expectation."""

EULER: Final = 0.5772
_STANDARD: Final = NormalDist()
_FIT_STEPS: Final = 6
_SHORTEST_SECONDS: Final = 1e-4
_MIDPOINTS: Final = tuple(_STANDARD.inv_cdf((index + 0.5) / 16) for index in range(16))
_TAIL_MIDPOINTS: Final = tuple(-math.log1p(-(index + 0.5) / 8) for index in range(8))


@dataclass(frozen=True, slots=True)
class JobTimes:
    """The distribution as its quantiles, and how uncertain its scale is."""

    quantiles: tuple[float, ...]
    """The middle of each of :data:`~cautoscaler.forecasting.draws.STRATA` strata, seconds."""
    tail: float
    """Mean log-excess beyond the last stratum: the reciprocal of a Pareto exponent."""
    spread: float
    """Standard deviation of the logarithm of true mean ÷ mean."""
    lean: float
    """How much the mean of those seen is likelier to be too low than too high: long jobs are rare, so few were seen."""
    mean_seconds: float
    variance: float

    def scale(self, normal: float) -> float:
        """True mean ÷ mean at a standard normal quantile, corrected for skewness as in Johnson's t (1978)."""
        return math.exp(self.spread * normal) + self.lean * (1 + 2 * normal * normal)

    def beyond(self, exponential: float) -> float:
        """A duration in the last stratum, from a standard exponential draw."""
        return self.quantiles[-1] * math.exp(self.tail * (exponential - math.log(2)))

    def rank(self, age_seconds: float) -> int:
        """How many strata are certainly shorter than a job that has run for so long."""
        return bisect_right(self.quantiles, age_seconds)


def job_times(
    *, estimate_seconds: float, durations: Durations, history: Durations, running_seconds: Sequence[float]
) -> JobTimes:
    """What is known of the next job's duration; durations in seconds."""
    if history.count:
        prior_seconds, spread = history.seconds / history.count, HISTORY_SPREAD
    else:
        prior_seconds, spread = estimate_seconds, ESTIMATE_SPREAD
    seen = _observed(durations, history)
    ages = sorted(age for age in running_seconds if age > 0)
    location, sigma = _fit(max(_SHORTEST_SECONDS, prior_seconds), spread, seen, ages)
    longest = max(seen[-1][0] if seen else 0.0, ages[-1] if ages else 0.0, math.exp(location))
    tail = _tail(seen, location, sigma, longest)
    quantiles = _quantiles(_atoms(seen, ages, location, sigma, tail))
    mean = sum(quantiles) / STRATA
    variance = sum((quantile - mean) ** 2 for quantile in quantiles) / STRATA
    lean = 0.0
    if durations.count and variance > 0:
        lean = min(MOST_LEAN, _third_moment(quantiles, mean) / (variance * mean * 6 * durations.count))
    return JobTimes(quantiles, tail, _uncertainty(durations.count, mean, variance, spread), lean, mean, variance)


def _observed(durations: Durations, history: Durations) -> list[tuple[float, float]]:
    """Durations and how many there were of each, shortest first; those of earlier experiments weigh less."""
    fading = 1 + durations.count / FADING_JOBS
    weight = min(1.0, HISTORY_JOBS / history.count) / fading if history.count else 0.0
    found = [(bucket.mean_seconds, float(bucket.count)) for bucket in durations.buckets]
    found += [(bucket.mean_seconds, bucket.count * weight) for bucket in history.buckets]
    return sorted((max(_SHORTEST_SECONDS, seconds), number) for seconds, number in found)


def _fit(
    prior_seconds: float, spread: float, seen: Sequence[tuple[float, float]], ages: Sequence[float]
) -> tuple[float, float]:
    """Location and sigma of a log-normal by expectation and maximisation: running jobs are censored observations."""
    count = sum(number for _, number in seen)
    logs = [(math.log(seconds), number) for seconds, number in seen]
    censored = [math.log(age) for age in _thinned(ages)]
    weight = len(ages) / len(censored) if censored else 0.0
    sigma = PRIOR_SIGMA
    prior = math.log(prior_seconds) - sigma * sigma / 2
    location = prior if not count else sum(log * number for log, number in logs) / count
    total, squares = (
        sum(log * number for log, number in logs),
        sum(log * log * number for log, number in logs),
    )
    for _ in range(_FIT_STEPS if censored or not count else 2):
        first, second = total, squares
        for log in censored:
            z = (log - location) / sigma
            hazard = _hazard(z)
            mean = location + sigma * hazard
            first += weight * mean
            second += weight * (sigma * sigma * (1 + z * hazard) + 2 * location * mean - location * location)
        number = count + len(ages)
        precision = number / (sigma * sigma) + 1 / (spread * spread)
        location = (first / (sigma * sigma) + prior / (spread * spread)) / precision
        scatter = max(0.0, second - 2 * location * first + number * location * location)
        sigma = min(WIDEST, math.sqrt((PRIOR_SIGMA_JOBS * PRIOR_SIGMA**2 + scatter) / (PRIOR_SIGMA_JOBS + number)))
    return location, sigma


def _thinned(ages: Sequence[float]) -> Sequence[float]:
    """Not more of them than tell something."""
    step = max(1, len(ages) // 32)
    return ages[step // 2 :: step]


def _hazard(z: float) -> float:
    """Of the standard normal: density ÷ survival, by its asymptote where that is far out."""
    if z > 6:
        return z + 1 / z
    return math.exp(-z * z / 2) / math.sqrt(2 * math.pi) / (0.5 * math.erfc(z / math.sqrt(2)))


def _atoms(
    seen: Sequence[tuple[float, float]],
    ages: Sequence[float],
    location: float,
    sigma: float,
    tail: float,
) -> list[tuple[float, float]]:
    """Durations with their weights: the measured ones, censoring seen to, and the fitted ones."""
    weight = FITTED_JOBS / len(_MIDPOINTS) / (1 + sum(number for _, number in seen) / FADING_JOBS)
    fitted = [(math.exp(location + sigma * z), weight) for z in _MIDPOINTS]
    if not seen:
        return fitted
    count = sum(number for _, number in seen)
    survival, at_risk, passed, found = 1.0, float(count + len(ages)), 0, list[tuple[float, float]]()
    for seconds, number in seen:
        younger = bisect_left(ages, seconds)  # nobody knows whether they will take so long
        at_risk -= younger - passed
        passed = younger
        mass = survival * number / at_risk
        found.append((seconds, mass))
        survival -= mass
        at_risk -= number
    whole = float(count + len(ages))
    atoms = [(seconds, mass * whole) for seconds, mass in found]
    rest = max(survival * whole, UNSEEN_JOBS)
    # what has run for longer than any that ended goes on as the fitted tail says
    start = seen[-1][0]
    excess = _log_excess(start, location, sigma) if survival * whole >= 1 else tail
    atoms += [(start * math.exp(excess * each), rest / len(_TAIL_MIDPOINTS)) for each in _TAIL_MIDPOINTS]
    return atoms + fitted


def _log_excess(seconds: float, location: float, sigma: float) -> float:
    """How much longer, in logarithms, what has taken so long takes on average."""
    z = (math.log(seconds) - location) / sigma
    return min(LONGEST_TAIL, max(0.0, sigma * (_hazard(z) - z)))


def _quantiles(atoms: list[tuple[float, float]]) -> tuple[float, ...]:
    atoms.sort()
    step = sum(weight for _, weight in atoms) / STRATA
    quantiles, reached, due = list[float](), 0.0, step / 2
    for seconds, weight in atoms:
        reached += weight
        while due < reached and len(quantiles) < STRATA:
            quantiles.append(seconds)
            due += step
    quantiles += [atoms[-1][0]] * (STRATA - len(quantiles))
    return tuple(quantiles)


def _tail(seen: Sequence[tuple[float, float]], location: float, sigma: float, beyond: float) -> float:
    """Mean log-excess of the longest: the fitted one, and Hill's over the longest of those seen.

    Hill's is the mean of as many spacings, each an exponential draw. Without the largest of them it is as good, and
    does not take the gap between two kinds of jobs for a tail.
    """
    fitted = _log_excess(beyond, location, sigma)
    if not seen:
        return fitted
    wanted = max(3.0, math.sqrt(sum(number for _, number in seen)))
    longest, total, largest = 0.0, 0.0, 0.0
    for (seconds, number), shorter in zip(reversed(seen), [*reversed(seen[:-1]), None], strict=True):
        longest = min(wanted, longest + number)
        if longest >= wanted or shorter is None:
            break
        spacing = longest * math.log(seconds / shorter[0])
        total, largest = total + spacing, max(largest, spacing)
    counted = max(0.0, longest - math.log(longest) - EULER)  # the largest of so many takes away a part of them
    return min(LONGEST_TAIL, (TAIL_JOBS * fitted + total - largest) / (TAIL_JOBS + counted))


def _third_moment(quantiles: Sequence[float], mean: float) -> float:
    return max(0.0, sum((quantile - mean) ** 3 for quantile in quantiles) / STRATA)


def _uncertainty(count: int, mean: float, variance: float, spread: float) -> float:
    """Of the mean, relatively: what the jobs seen leave open, and not more than the prior leaves."""
    if count == 0:
        return spread
    # of few jobs the variance is no better known than the mean
    sampled = math.log1p(variance / (mean * mean) * (count + SMALL_SAMPLE) / (count * count))
    return math.sqrt(sampled * spread * spread / (sampled + spread * spread))
