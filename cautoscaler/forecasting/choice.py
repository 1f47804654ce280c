"""How many containers: the fewest that keep the promise, and what gives way where none do."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from cautoscaler.forecasting.finish import Finish, FinishModel
from cautoscaler.parameters import OnConflict

AS_GOOD: Final = 1.02
"""Ends that differ by no more count as the same: a container for so little is not asked for."""
AS_LIKELY: Final = 0.01
LIKELY_ENOUGH: Final = 0.5
"""Where not even the best keeps the deadline so surely, the earliest end counts instead."""
ALL_TRIED: Final = 48
"""With contention every number up to it is tried, for more may be worse; above it some in equal proportions."""
_SCANNED: Final = 12


@dataclass(frozen=True, slots=True)
class Choice:
    """A number of containers, and what is to be expected of it."""

    containers: int
    finish: Finish
    kept: bool
    """Whether deadline and budget are kept at the confidence wanted."""
    probability: float | None
    """Of the deadline; None without one."""
    earliest_seconds: float | None = None
    """Where the deadline cannot be kept: what can, at the confidence wanted, seconds from now."""


def choose(
    model: FinishModel,
    *,
    most: int,
    seconds: float | None,
    confidence: float,
    budget_seconds: float | None = None,
    on_conflict: OnConflict = OnConflict.LATE,
) -> Choice:
    """The fewest of at most ``most`` containers that end within ``seconds`` and cost at most ``budget_seconds``.

    No number is chosen that a smaller one beats: the numbers are tried from the least possible on.
    """
    if seconds is not None and seconds > 0:
        found = fewest(model, most, seconds, confidence)
        if found is not None and (
            budget_seconds is None
            or on_conflict is not OnConflict.LATE
            or model.finish(found).container_seconds <= budget_seconds
        ):
            finish = model.finish(found)
            affordable = budget_seconds is None or finish.container_seconds <= budget_seconds
            return Choice(found, finish, affordable, finish.probability(seconds))
    allowed = None if on_conflict is OnConflict.BUDGET and seconds is not None else budget_seconds
    best = _earliest(model, most, seconds, allowed)
    finish = model.finish(best)
    if seconds is None:
        return Choice(best, finish, allowed is None or finish.container_seconds <= allowed, None)
    return Choice(best, finish, False, finish.probability(seconds), finish.quantile(confidence))


def fewest(
    model: FinishModel, most: int, seconds: float, confidence: float, *, least: int = 1, then: int = 0
) -> int | None:
    """The fewest containers that end within ``seconds`` with this probability, or None where not even ``most`` do.

    Not fewer than ``least``; ``then`` is that of :meth:`FinishModel.finish`.
    """

    def enough(containers: int) -> bool:
        return model.finish(containers, then).probability(seconds) >= confidence

    if not then:
        slowest = model.work_seconds(confidence) * model.contention.factor(1) / seconds
        if slowest > 2 * most:
            return None
        least = max(least, min(most, math.floor(slowest)))
    if model.contention.exponent == 0.0:
        return _bisected(enough, least, most)
    return next((containers for containers in _candidates(least, most) if enough(containers)), None)


def _bisected(enough: Callable[[int], bool], least: int, most: int) -> int | None:
    """More never end later, so few need to be tried; mostly it is the least possible or the next."""
    step, low, high = 1, least - 1, least
    while not enough(high):
        if high >= most:
            return None
        low, high, step = high, min(most, high + step), 2 * step
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def _candidates(least: int, most: int) -> Iterator[int]:
    """The numbers that are tried, from the least possible on."""
    containers = least
    while containers < most:
        yield containers
        containers += 1 if containers < ALL_TRIED else containers // _SCANNED
    yield most


def _earliest(model: FinishModel, most: int, seconds: float | None, budget_seconds: float | None) -> int:
    """The fewest that are as good as the best: likeliest to keep the deadline, or else earliest to end."""
    if budget_seconds is None and model.contention.exponent == 0.0:
        good = _as_good(model, [most], seconds)
        return _bisected(good, 1, most) or most
    numbers = list(_candidates(1, most))
    if budget_seconds is not None:
        affordable = [one for one in numbers if model.finish(one).container_seconds <= budget_seconds]
        numbers = affordable or [min(numbers, key=lambda one: (model.finish(one).container_seconds, one))]
    return next(filter(_as_good(model, numbers, seconds), numbers))


def _as_good(model: FinishModel, numbers: list[int], seconds: float | None) -> Callable[[int], bool]:
    """Whether a number is about as good as the best of these."""
    if seconds is not None and seconds > 0:
        likeliest = max(model.finish(one).probability(seconds) for one in numbers)
        if likeliest >= LIKELY_ENOUGH:
            return lambda one: model.finish(one).probability(seconds) >= likeliest - AS_LIKELY
    earliest = min(model.finish(one).quantile(0.5) for one in numbers)
    return lambda one: model.finish(one).quantile(0.5) <= earliest * AS_GOOD
