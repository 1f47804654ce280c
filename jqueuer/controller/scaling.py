"""While the experiment runs: create its service, then follow CAutoScaler (paper §IV-A.3c, §V)."""

from __future__ import annotations

from dataclasses import replace

import cautoscaler
from cautoscaler import Advice, AutoscalerState, Decision
from cautoscaler.coherence import NO_ROW
from jqueuer.controller.commands import AskPolicy, Commands
from jqueuer.controller.limits import note_refusals, wanted_of
from jqueuer.controller.observation import ControllerState, Observation
from jqueuer.controller.requesting import create, follow
from jqueuer.controller.situation import REST_POLICY, policy_name, policy_request, situation_of
from jqueuer.records import ExperimentRecord

CREATE_AGAIN_SECONDS = 5.0
"""A service that is still not seen so long after its creation is created again."""
ANSWER_GRACE_SECONDS = 5.0
"""So long beyond its time-out an answer may still arrive before the question counts as lost."""


def scale(
    state: ControllerState, observation: Observation, record: ExperimentRecord
) -> tuple[ControllerState, Commands]:
    """Decide when the policy's period is over, and request as much of what is wanted as there is room for."""
    state = note_refusals(state, observation)
    missing = observation.service is None or state.released_at is not None
    if missing and not _may_create(state, observation.now):
        return state, ()
    if not missing and record.description.container_name is not None:
        return state, ()  # the user's own service has as many containers as its user wants
    due = not state.undone if missing else _calculation_due(state, observation, record)
    new: Decision | None = None
    asked: Commands = ()
    if due or state.asked_at is not None:
        state, asked, advice = _consult(state, observation, record)
        if state.asked_at is None:
            state, new = _decide(state, observation, record, advice, missing)
        elif missing:
            return state, asked
    state, commands = create(state, observation) if missing else follow(state, observation, new)
    return state, (*asked, *commands)


def _may_create(state: ControllerState, now: float) -> bool:
    return state.created_at is None or state.released_at is not None or now - state.created_at >= CREATE_AGAIN_SECONDS


def _calculation_due(state: ControllerState, observation: Observation, record: ExperimentRecord) -> bool:
    if state.calculated_at is None:
        return True
    # asked anew at every look, so that the period shortens as soon as tasks turn out to be short
    description = record.description
    period = cautoscaler.period_seconds(
        policy_name(description), situation_of(state, observation, record), description.policy.period
    )
    # a clock that was set back would put the next calculation off for as long
    return not 0 <= observation.now - state.calculated_at < period


def _consult(
    state: ControllerState, observation: Observation, record: ExperimentRecord
) -> tuple[ControllerState, Commands, Advice | None]:
    """Ask the policy service and wait for its answer; one question at a time, and nothing to ask other policies."""
    policy, now = record.description.policy, observation.now
    if policy_name(record.description) != REST_POLICY or policy.url is None:
        return state, (), None
    if state.asked_at is None:
        request = policy_request(state, observation, record)
        ask = AskPolicy(policy.url, policy.timeout, "the policy's period is over", request)
        return replace(state, asked_at=now), (ask,), None
    if observation.advice is not None:
        return replace(state, asked_at=None), (), observation.advice
    if now - state.asked_at < policy.timeout + ANSWER_GRACE_SECONDS:
        return state, (), None
    return replace(state, asked_at=None), (), Advice(error=f"no answer within {now - state.asked_at:.0f} s")


def _decide(
    state: ControllerState, observation: Observation, record: ExperimentRecord, advice: Advice | None, missing: bool
) -> tuple[ControllerState, Decision]:
    """Ask CAutoScaler. It takes what is wanted for requested: a lack of room is no reason to begin a new row."""
    policy, situation = policy_name(record.description), situation_of(state, observation, record, advice)
    if missing:
        decision, row = cautoscaler.initial(policy, situation), NO_ROW
    else:
        if observation.requested > 0:
            wanted = wanted_of(state, observation)
            situation = replace(situation, requested=wanted, short_of_room=wanted > observation.requested)
        autoscaler, decision = cautoscaler.step(AutoscalerState(policy, state.coherence), situation)
        row = autoscaler.coherence
    acts, now = decision.verdict.acts, observation.now
    state = replace(state, coherence=row, decision=decision, calculated_at=now, undone=acts)
    if acts:
        state = replace(state, wanted=decision.target, changed_at=state.changed_at if missing else now)
    return state, decision
