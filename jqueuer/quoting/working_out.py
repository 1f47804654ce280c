"""Working out a quote: the forecast for every number of containers, and what follows from it."""

from __future__ import annotations

import math
from dataclasses import replace
from datetime import datetime
from typing import Final

import cautoscaler
from cautoscaler import Durations, Measured, OnConflict, Situation
from cautoscaler.forecasting import MANY_PATHS, Finish, FinishModel
from cautoscaler.forecasting.finish import LARGEST_MODEL
from cautoscaler.measured import NO_DURATIONS
from jqueuer.controller.forecasting import grounds
from jqueuer.controller.parameters import parameters_of
from jqueuer.controller.situation import REST_POLICY, policy_name
from jqueuer.model import Experiment
from jqueuer.quoting.offers import Offer, Quote
from jqueuer.quoting.words import reason_of
from jqueuer.quoting.workload import Workload

TOLERANCE: Final = 1e-9
"""Of a probability: a deadline that was worked out from a confidence must be found to have it."""


def quote(
    description: Experiment,
    workload: Workload,
    *,
    now: float,
    history: Durations = NO_DURATIONS,
    start_seconds: float | None = None,
    received_at: float | None = None,
) -> Quote:
    """What can be promised about an experiment received now; ``history`` is of earlier ones of its kind.

    Its deadline counts from ``received_at``, where that was earlier.
    """
    received_at = now if received_at is None else received_at
    situation = _situation(description, workload, now, received_at, history, start_seconds)
    parameters, left = situation.parameters, situation.seconds_left
    low, most = _limits(description, situation)
    expected = _Expected(situation, most)
    yields = parameters.on_conflict is OnConflict.BUDGET and left is not None
    budget = None if yields else parameters.budget_container_seconds
    rule = _Rule(expected, left, parameters.confidence, budget)
    numbers = _numbers(low, most)
    containers = rule.fewest(numbers)
    earliest = rule.earliest(numbers, description.policy.margin)
    policy = policy_name(description)
    chosen = None if policy == REST_POLICY else cautoscaler.initial(policy, situation).target
    marked = {number for number in (containers, chosen) if number}
    price = parameters.price_per_container_hour
    curve = tuple(_offer(expected.finish(number), left, price) for number in sorted(marked.union(numbers)))
    found = Quote(
        feasible=containers is not None,
        reason="",
        jobs=workload.jobs,
        confidence=parameters.confidence,
        deadline_seconds=None if situation.deadline_at is None else round(situation.deadline_at - now, 3),
        margin_seconds=description.policy.margin,
        earliest_deadline_seconds=earliest,
        containers=None if left is None and budget is None else containers,
        policy=policy,
        policy_containers=chosen,
        budget_container_hours=None if budget is None else budget / 3600,
        price_per_container_hour=price,
        start_seconds=start_seconds,
        history_jobs=history.count,
        basis=f"{grounds(situation)}; {_starts(start_seconds, expected)}",
        curve=curve,
    )
    return replace(found, reason=reason_of(found))


def _situation(
    description: Experiment,
    workload: Workload,
    now: float,
    received_at: float,
    history: Durations,
    start_seconds: float | None,
) -> Situation:
    deadline = description.deadline
    deadline_at = deadline.timestamp() if isinstance(deadline, datetime) else deadline and received_at + deadline
    return Situation(
        now=now,
        started_at=received_at,
        deadline_at=deadline_at,
        minimum=description.containers.min,
        maximum=description.containers.max,
        jobs_total=workload.jobs,
        jobs_left=workload.jobs,
        tasks_per_job=workload.tasks_per_job,
        estimate_seconds=description.estimate,
        measured=Measured(start_seconds=start_seconds),
        history=history,
        margin_seconds=description.policy.margin,
        parameters=parameters_of(description, now),
        fallback=description.policy.fallback,
    )


def _limits(description: Experiment, situation: Situation) -> tuple[int, int]:
    """The fewest and the most containers it may come to have."""
    low = max(1, situation.minimum)
    most = max(low, min(situation.maximum, situation.jobs_left))
    if policy_name(description) == "fixed" and description.policy.containers:
        low = most = max(low, min(most, description.policy.containers))
    return low, most


def _numbers(low: int, most: int) -> list[int]:
    """The numbers that are looked at: all where they are few, some in equal proportions where they are many."""
    numbers, number = list[int](), low
    while number < most:
        numbers.append(number)
        number += max(1, (number - low) // 3)
    return [*numbers, most]


class _Expected:
    """The forecast for any number of containers; it does not depend on the deadline, so deadlines can be compared."""

    def __init__(self, situation: Situation, most: int) -> None:
        whenever = replace(situation, deadline_at=None, maximum=most)
        self._small = FinishModel(replace(whenever, maximum=min(most, LARGEST_MODEL)), MANY_PATHS)
        self._large = FinishModel(whenever, MANY_PATHS) if most > LARGEST_MODEL else None
        self.start_seconds = self._small.start_seconds

    def finish(self, containers: int) -> Finish:
        if self._large is None or containers <= LARGEST_MODEL:
            return self._small.finish(containers)
        found, fewer = self._large.finish(containers), self._small.finish(LARGEST_MODEL)
        # two models, so two sets of draws; still more containers never end later
        return replace(found, ends=tuple(map(min, found.ends, fewer.ends)))


class _Rule:
    """What has to be kept."""

    def __init__(
        self, expected: _Expected, left: float | None, confidence: float, budget_seconds: float | None
    ) -> None:
        self._expected, self._left, self._confidence, self._budget = expected, left, confidence, budget_seconds

    def fewest(self, numbers: list[int]) -> int | None:
        """The fewest containers that keep it; also between these numbers, of which the first that does is found."""
        first = next((place for place, number in enumerate(numbers) if self._keeps(number)), None)
        if not first:
            return None if first is None else numbers[0]
        low, high = numbers[first - 1], numbers[first]
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if self._keeps(middle) else (middle, high)
        return high

    def earliest(self, numbers: list[int], margin_seconds: float) -> float | None:
        """The earliest deadline that some of these numbers keep within the budget, rounded up to what people write."""
        ends = (self._expected.finish(number) for number in numbers)
        seconds = [finish.quantile(self._confidence) for finish in ends if self._affordable(finish)]
        return rounded_up(min(seconds) + margin_seconds) if seconds else None

    def _keeps(self, containers: int) -> bool:
        finish = self._expected.finish(containers)
        in_time = self._left is None or finish.probability(self._left) >= self._confidence - TOLERANCE
        return in_time and self._affordable(finish)

    def _affordable(self, finish: Finish) -> bool:
        return self._budget is None or finish.container_seconds <= self._budget


def rounded_up(seconds: float) -> float:
    """Whole seconds, below ten tenths: as a deadline would be written, and not earlier."""
    return math.ceil(seconds * 10) / 10 if seconds < 10 else float(math.ceil(seconds))


def _offer(finish: Finish, left: float | None, price: float | None) -> Offer:
    p50, p80, p95 = (finish.quantile(probability) for probability in (0.5, 0.8, 0.95))
    hours = finish.container_seconds / 3600
    return Offer(
        containers=finish.containers,
        p50_seconds=round(p50, 3),
        p80_seconds=round(p80, 3),
        p95_seconds=round(p95, 3),
        probability=None if left is None else round(finish.probability(left), 4),
        container_hours=round(hours, 6),
        cost=None if price is None else round(hours * price, 6),
    )


def _starts(start_seconds: float | None, expected: _Expected) -> str:
    how = "as measured" if start_seconds is not None else "which was never measured"
    return f"containers start within {expected.start_seconds:.3g} s, {how}"
