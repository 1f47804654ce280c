"""``deadline-forecast``: the fewest containers that meet the deadline with the probability wanted."""

from __future__ import annotations

from typing import ClassVar, Final

from cautoscaler.coherence import UP_AT_ONCE, CoherenceRule
from cautoscaler.decision import Basis, Scalar, Suggestion
from cautoscaler.forecasting import Choice, FinishModel, choose, fewest
from cautoscaler.parameters import Parameters
from cautoscaler.policies.registry import LONGEST_PERIOD_SECONDS, SHORTEST_PERIOD_SECONDS, Policy, register
from cautoscaler.situation import Situation
from cautoscaler.wording import amount, plural

LIKELY: Final = 0.6
"""Before anything is measured a number is enough that does with this probability, as long as more can still be asked
for once it is known better."""
AIM: Final = 0.7
"""When the chance to be late is above what is allowed, more are asked for: so many that it is this part of that …"""
SURER: Final = 0.35
"""… and some are given up where that leaves it below this part: having to ask for them again would cost their start."""


@register
class DeadlineForecast(Policy):
    """Forecasts the distribution of the finish for every number of containers (:mod:`cautoscaler.forecasting`).

    Scales up when the forecast falls below ``confidence``, down when fewer would clearly do; as jobs run out that is
    ever fewer, and containers end with their jobs.
    """

    name: ClassVar[str] = "deadline-forecast"
    summary: ClassVar[str] = "The fewest containers that meet the deadline with the stated probability."
    reads: ClassVar[frozenset[str]] = frozenset({"margin", "confidence", "on_conflict", "budget", "price"})

    def suggest(self, situation: Situation) -> Suggestion:
        """The fewest that do, or what the declared conflict rule makes of it where none do."""
        if situation.jobs_left <= 0:
            return Suggestion(0, Basis.NO_JOBS_LEFT, "no jobs are left", {"jobs_left": 0})
        model, left = FinishModel(situation), situation.seconds_left
        most = max(1, min(situation.maximum, situation.jobs_left))
        parameters = situation.parameters
        budget = parameters.budget_container_seconds
        rule = _Rule(model, most, parameters)
        if left is not None and left > 0 and budget is None:
            number = rule.within(situation, left)
            if number is not None:
                finish = model.finish(number)
                choice = Choice(number, finish, True, finish.probability(left))
                return Suggestion(number, *_told(situation, model, choice))
        choice = choose(
            model,
            most=most,
            seconds=left,
            confidence=rule.aim,
            budget_seconds=None if budget is None else budget - situation.container_seconds,
            on_conflict=parameters.on_conflict,
        )
        return Suggestion(choice.containers, *_told(situation, model, choice))

    def coherence(self, situation: Situation) -> CoherenceRule:
        """Up at once, down when three calculations in a row agree."""
        return UP_AT_ONCE

    def period_seconds(self, situation: Situation) -> float:
        """A fortieth of the time left, or of what the work takes if that is less; at least a quarter of a job."""
        job_seconds = situation.task_seconds * situation.tasks_per_job
        left = situation.jobs_left * job_seconds / max(1, situation.requested)
        if situation.seconds_left is not None:
            left = min(left, situation.seconds_left)
        return min(LONGEST_PERIOD_SECONDS, max(SHORTEST_PERIOD_SECONDS, left / 40, job_seconds / 4))

    def running(self, situation: Situation) -> int:
        """The requested containers: those that start are part of the forecast."""
        return situation.requested


class _Rule:
    """When to go up and down, and how far."""

    def __init__(self, model: FinishModel, most: int, parameters: Parameters) -> None:
        self._model, self._most = model, most
        self._confidence = parameters.confidence
        self.aim = 1 - (1 - parameters.confidence) * AIM
        self._surer = 1 - (1 - parameters.confidence) * SURER

    def within(self, situation: Situation, left: float) -> int | None:
        """The number that keeps the deadline, or None where none does."""
        model, most, requested = self._model, self._most, min(situation.requested, self._most)
        chance = model.finish(requested).probability(left) if requested else 0.0
        if self._confidence <= chance < self._surer:
            return requested
        if chance >= self._surer:
            return fewest(model, requested, left, self._surer)
        enough = fewest(model, most, left, self.aim)
        if situation.measured.durations.count or enough is None:
            return enough
        return max(requested, self._for_now(left, enough))

    def _for_now(self, left: float, enough: int) -> int:
        """Nothing is measured yet: enough if it is likely enough, and all are still of use once something is."""
        likely = fewest(self._model, enough, left, min(LIKELY, self._confidence)) or enough
        return fewest(self._model, enough, left, self.aim, least=likely, then=self._most) or enough


def _told(situation: Situation, model: FinishModel, choice: Choice) -> tuple[Basis, str, dict[str, Scalar]]:
    left, confidence, finish = situation.seconds_left, situation.parameters.confidence, choice.finish
    p50, p80, p95 = (finish.quantile(probability) for probability in (0.5, 0.8, 0.95))
    jobs = plural(situation.jobs_left, "job")
    reason = (
        f"{jobs} of about {amount(model.times.mean_seconds)} s with {plural(choice.containers, 'container')}: "
        f"done in {amount(p50)} s (P50) to {amount(p95)} s (P95)"
    )
    if left is None:
        basis = Basis.NO_DEADLINE
    elif left <= 0:
        basis, reason = Basis.LATE, f"{reason}, the deadline has passed"
    else:
        basis = Basis.FORECAST
        chance = f"{amount(100 * (choice.probability or 0.0))} % to be done in the {amount(left)} s left"
        reason = f"{reason}, {chance}"
    if not choice.kept and choice.earliest_seconds is not None:
        reason = (
            f"{reason}; {amount(100 * confidence)} % cannot be had: the earliest deadline that can be met so surely is "
            f"{amount(choice.earliest_seconds)} s from now"
        )
    inputs: dict[str, Scalar] = {
        "jobs_left": situation.jobs_left,
        "jobs_accomplished": situation.jobs_accomplished,
        "seconds_left": None if left is None else round(left, 3),
        "confidence": confidence,
        "probability": None if choice.probability is None else round(choice.probability, 3),
        "p50_seconds": round(p50, 1),
        "p80_seconds": round(p80, 1),
        "p95_seconds": round(p95, 1),
        "mean_job_seconds": round(model.times.mean_seconds, 3),
        "start_seconds": round(model.start_seconds, 3),
        "contention": round(model.contention.exponent, 3),
        "further_container_seconds": round(finish.container_seconds, 1),
    }
    if choice.earliest_seconds is not None:
        inputs["earliest_seconds"] = round(choice.earliest_seconds, 1)
    return basis, reason, inputs
