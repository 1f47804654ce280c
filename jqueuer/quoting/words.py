"""A quote in a sentence: the promise, or why there is none and what could be promised instead."""

from __future__ import annotations

from cautoscaler.wording import amount, plural
from jqueuer.quoting.offers import Offer, Quote
from jqueuer.units import format_duration


def reason_of(quote: Quote) -> str:
    """Why it is feasible or not."""
    best = quote.curve[-1]
    if quote.feasible:
        return _promise(quote, best)
    in_time = _in_time(quote) if quote.budget_container_hours is not None else []
    refusal = _too_dear(quote, in_time) if in_time else _too_late(quote, best)
    earliest = quote.earliest_deadline_seconds
    if earliest is None:
        return refusal
    within = " within the budget" if quote.budget_container_hours is not None else ""
    return f"{refusal}; the earliest deadline that can be kept so surely{within} is {_duration(earliest)}"


def _promise(quote: Quote, best: Offer) -> str:
    kept = next((offer for offer in quote.curve if offer.containers == quote.containers), None)
    if kept is None or kept.probability is None:
        what = "there is no deadline to keep" if kept is None else "the budget is kept"
        offer = kept or best
        return f"{what}; {_on(quote, offer)}: done within {_duration(offer.p95_seconds)} with 95 %"
    return f"{_on(quote, kept)}: done within {_deadline(quote)} with {_percent(kept.probability)}, {_wanted(quote)}"


def _too_late(quote: Quote, best: Offer) -> str:
    if quote.deadline_seconds is not None and quote.deadline_seconds <= 0:
        return "the deadline has passed"
    chance = f"{_percent(best.probability or 0.0)} only, {_wanted(quote)}"
    return f"{_on(quote, best)}, the most allowed: done within {_deadline(quote)} with {chance}"


def _too_dear(quote: Quote, in_time: list[Offer]) -> str:
    cheapest = min(in_time, key=lambda offer: offer.container_hours)
    budget = amount(quote.budget_container_hours or 0.0)
    hours = f"about {amount(cheapest.container_hours)} container-hours, where {budget} are budgeted"
    return f"{_on(quote, cheapest)} cost {hours}"


def _in_time(quote: Quote) -> list[Offer]:
    """What would do if there were no budget."""
    if quote.deadline_seconds is None:
        return list(quote.curve)
    return [offer for offer in quote.curve if (offer.probability or 0.0) >= quote.confidence]


def _on(quote: Quote, offer: Offer) -> str:
    return f"{plural(quote.jobs, 'job')} on {plural(offer.containers, 'container')}"


def _deadline(quote: Quote) -> str:
    margin = f" less the margin of {_duration(quote.margin_seconds)}" if quote.margin_seconds else ""
    return f"{_duration(quote.deadline_seconds or 0.0)}{margin}"


def _wanted(quote: Quote) -> str:
    return f"where {amount(100 * quote.confidence)} % is wanted"


def _percent(probability: float) -> str:
    return f"{int(100 * probability + 1e-9)} %"


def _duration(seconds: float) -> str:
    return format_duration(round(seconds, 1) if seconds < 10 else float(round(seconds)))
