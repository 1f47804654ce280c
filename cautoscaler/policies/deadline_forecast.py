"""``deadline-forecast``: the fewest containers that meet the deadline with the probability wanted."""

from __future__ import annotations

from typing import ClassVar, Final

from cautoscaler.decision import Basis, Scalar, Suggestion
from cautoscaler.forecasting import Choice, FinishModel, choose, fewest
from cautoscaler.policies.registry import Policy, register
from cautoscaler.situation import Situation
from cautoscaler.wording import amount, plural

LIKELY: Final = 0.6
"""Before anything is measured a number is enough that does with this probability, as long as more can still be asked
for once it is known better …"""
SURER: Final = 0.5
"""Containers are given up only where the chance to be late stays below so much of what is allowed: having to ask for
them again would cost their start."""


@register
class DeadlineForecast(Policy):
    """Forecasts the distribution of the finish for every number of containers (:mod:`cautoscaler.forecasting`).

    Scales up when the forecast falls below ``confidence``, down when fewer would clearly do; as jobs run out that is
    ever fewer, and containers end with their jobs.
    """

    name: ClassVar[str] = "deadline-forecast"
    summary: ClassVar[str] = "The fewest containers that meet the deadline with the stated probability."
    reads: ClassVar[frozenset[str]] = frozenset({"confidence", "on_conflict", "budget", "price"})

    def suggest(self, situation: Situation) -> Suggestion:
        """The fewest that do, or what the declared conflict rule makes of it where none do."""
        if situation.jobs_left <= 0:
            return Suggestion(0, Basis.NO_JOBS_LEFT, "no jobs are left", {"jobs_left": 0})
        model, left = FinishModel(situation), situation.seconds_left
        most = max(1, min(situation.maximum, situation.jobs_left))
        parameters = situation.parameters
        budget = parameters.budget_container_seconds
        choice = choose(
            model,
            most=most,
            seconds=left,
            confidence=parameters.confidence,
            budget_seconds=None if budget is None else budget - situation.container_seconds,
            on_conflict=parameters.on_conflict,
        )
        if choice.kept and left is not None:
            number = _start(model, situation, most, left, choice.containers)
            choice = _at(model, number, left)
        return Suggestion(choice.containers, *_told(situation, model, choice))

    def running(self, situation: Situation) -> int:
        """The requested containers: those that start are part of the forecast."""
        return situation.requested


def _start(model: FinishModel, situation: Situation, most: int, left: float, enough: int) -> int:
    """As many as are enough, and neither more than can wait, nor fewer than would have to be asked for again."""
    confidence, requested = situation.parameters.confidence, min(situation.requested, most)
    if not situation.measured.durations.count:
        likely = fewest(model, most, left, min(LIKELY, confidence)) or enough
        enough = next(
            (one for one in range(likely, enough) if model.finish(one, most).probability(left) >= confidence), enough
        )
    if requested <= enough:
        return enough
    surer = 1 - (1 - confidence) * SURER
    fewer = fewest(model, requested, left, surer)
    return requested if fewer is None else max(enough, fewer)


def _at(model: FinishModel, containers: int, left: float) -> Choice:
    finish = model.finish(containers)
    return Choice(containers, finish, True, finish.probability(left))


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
