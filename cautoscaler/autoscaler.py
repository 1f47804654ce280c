"""The container autoscaler: from a situation to a decision (paper §V-B).

::

    situation ─► policy (calculator) ─► clamp ─► coherence ─► cool-down ─► decision

Directions are seen from the *requested* number, not from the observed one: while containers start or drain, the
observed number lags behind, and correcting it again would overshoot.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from cautoscaler.clamp import clamp
from cautoscaler.coherence import NO_ROW, CoherenceIndex, Direction, advance
from cautoscaler.decision import Decision, Scalar, Suggestion, Verdict
from cautoscaler.policies import Policy, get
from cautoscaler.situation import Situation
from cautoscaler.wording import amount


@dataclass(frozen=True, slots=True)
class AutoscalerState:
    """A policy by name, and the row of suggestions it has made so far."""

    policy: str
    coherence: CoherenceIndex = NO_ROW


def initial(policy: str, situation: Situation) -> Decision:
    """How many containers the service starts with."""
    chosen = get(policy)
    suggestion = chosen.initial(situation)
    clamped = clamp(
        suggestion.needed,
        minimum=situation.minimum if chosen.minimum_at_start else 0,
        maximum=situation.maximum,
        jobs_left=situation.jobs_left if chosen.bounded_by_jobs else None,
    )
    what = "one container is started" if clamped.value == 1 else f"{clamped.value} containers are started"
    return Decision(
        Verdict.START,
        suggestion.needed,
        clamped.value,
        clamped.value,
        suggestion.basis,
        _sentence(suggestion.reason, clamped.reason, what),
        _inputs(chosen, situation, suggestion),
    )


def step(state: AutoscalerState, situation: Situation) -> tuple[AutoscalerState, Decision]:
    """One calculation and what follows from it."""
    policy = get(state.policy)
    suggestion = policy.suggest(situation)
    clamped = clamp(
        suggestion.needed,
        minimum=situation.minimum,
        maximum=situation.maximum,
        jobs_left=situation.jobs_left if policy.bounded_by_jobs else None,
    )
    row, verdict, target, what = _judge(state.coherence, policy, situation, clamped.value)
    inputs = {**_inputs(policy, situation, suggestion), "coherence_index": row.index}
    reason = _sentence(suggestion.reason, clamped.reason, what)
    decision = Decision(verdict, suggestion.needed, clamped.value, target, suggestion.basis, reason, inputs)
    return replace(state, coherence=row), decision


def period_seconds(policy: str, situation: Situation, override: float | None = None) -> float:
    """Time between two calculations: the user's choice, or else the policy's."""
    return get(policy).period_seconds(situation) if override is None else override


def _judge(
    row: CoherenceIndex, policy: Policy, situation: Situation, suggested: int
) -> tuple[CoherenceIndex, Verdict, int, str]:
    requested = situation.requested
    allowed = clamp(requested, minimum=situation.minimum if policy.minimum_at_start else 0, maximum=situation.maximum)
    if situation.jobs_left <= 0 and suggested >= requested:
        return NO_ROW, Verdict.HOLD, requested, "nothing is scaled up without jobs"
    if requested == 0 and suggested > 0:
        return NO_ROW, Verdict.SCALE_UP, suggested, f"none is requested, so {suggested} at once"
    if allowed.value != requested:
        # limits are the user's word, not a fluttering suggestion: nothing is waited for
        return NO_ROW, _verdict(requested, allowed.value), allowed.value, f"{requested} {allowed.reason} at once"
    if requested > 0 and policy.running(situation) < 1:
        return row, Verdict.WAIT, requested, "no container runs yet"
    return _confirm(row, policy, situation, suggested)


def _confirm(
    row: CoherenceIndex, policy: Policy, situation: Situation, suggested: int
) -> tuple[CoherenceIndex, Verdict, int, str]:
    requested, rule = situation.requested, policy.coherence(situation)
    grown, agreed = advance(row, rule, requested=requested, suggested=suggested)
    if agreed is None:
        if grown.index == 0:
            return grown, Verdict.HOLD, requested, _already(situation)
        wanted = rule.long_enough(grown.direction)
        what = f"{grown.index} of {wanted} calculations in a row agree to go from {requested} to {grown.target}"
        return grown, Verdict.CONFIRM, requested, what
    # the limits may have moved since the first suggestion of the row
    target = clamp(agreed, minimum=situation.minimum, maximum=situation.maximum).value
    if target == requested:
        return grown, Verdict.HOLD, requested, _already(situation)
    verdict = _verdict(requested, target)
    wanted = rule.long_enough(Direction.UP if verdict is Verdict.SCALE_UP else Direction.DOWN)
    if (wait_seconds := _cooling_seconds(policy, situation, verdict)) > 0:
        # the row stays one short of complete: the first calculation after the wait that agrees acts
        held = replace(row, target=agreed) if wanted > 1 else grown
        what = f"cooling down for another {amount(wait_seconds)} s before going from {requested} to {target}"
        return held, Verdict.COOL_DOWN, requested, what
    row_text = f"{wanted} calculations in a row agree: " if wanted > 1 else ""
    return grown, verdict, target, f"{row_text}from {requested} to {target}"


def _cooling_seconds(policy: Policy, situation: Situation, verdict: Verdict) -> float:
    """How long until the last change is long enough ago; a clock that was set back does not prolong the wait."""
    if situation.changed_at is None:
        return 0.0
    cooldown_seconds = policy.cooldown_seconds(situation, up=verdict is Verdict.SCALE_UP)
    return cooldown_seconds - max(0.0, situation.now - situation.changed_at)


def _already(situation: Situation) -> str:
    return f"{situation.requested} {'wanted' if situation.short_of_room else 'requested'} already"


def _verdict(requested: int, target: int) -> Verdict:
    return Verdict.SCALE_UP if target > requested else Verdict.SCALE_DOWN


def _inputs(policy: Policy, situation: Situation, suggestion: Suggestion) -> dict[str, Scalar]:
    containers = situation.containers
    return {
        "policy": policy.name,
        "basis": suggestion.basis.value,
        **suggestion.inputs,
        "minimum": situation.minimum,
        "maximum": situation.maximum,
        "requested": situation.requested,
        "starting": containers.starting,
        "idle": containers.idle,
        "busy": containers.busy,
        "draining": containers.draining,
    }


def _sentence(*parts: str) -> str:
    return "; ".join(part for part in parts if part)
