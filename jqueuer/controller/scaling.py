"""While the experiment runs: create its service, then follow CAutoScaler (paper §IV-A.3c, §V)."""

from __future__ import annotations

from dataclasses import replace

import cautoscaler
from cautoscaler import Advice, AutoscalerState, Decision, Verdict
from cautoscaler.coherence import NO_ROW
from jqueuer.controller.commands import AskPolicy, Command, Commands, CreateService, Journal, ScaleService
from jqueuer.controller.observation import ControllerState, Observation
from jqueuer.controller.situation import REST_POLICY, policy_name, policy_request, situation_of
from jqueuer.records import ExperimentRecord, JournalEntry

CREATE_AGAIN_SECONDS = 5.0
"""A service that is still not seen so long after its creation is created again."""
ANSWER_GRACE_SECONDS = 5.0
"""So long beyond its time-out an answer may still arrive before the question counts as lost."""


def scale(
    state: ControllerState, observation: Observation, record: ExperimentRecord
) -> tuple[ControllerState, Commands]:
    """Create the service if it is not there, or calculate when the policy's period is over."""
    missing = observation.service is None or state.released_at is not None
    due = _may_create(state, observation.now) if missing else _calculation_due(state, observation, record)
    if not due and state.asked_at is None:
        return state, ()
    state, asked, advice = _consult(state, observation, record)
    if state.asked_at is not None:
        return state, asked
    return (_create if missing else _calculate)(state, observation, record, advice)


def _may_create(state: ControllerState, now: float) -> bool:
    return state.created_at is None or state.released_at is not None or now - state.created_at >= CREATE_AGAIN_SECONDS


def _calculation_due(state: ControllerState, observation: Observation, record: ExperimentRecord) -> bool:
    if state.calculated_at is None:
        return True
    # asked anew at every look, so that the period shortens as soon as tasks turn out to be short
    description = record.description
    period = cautoscaler.period_seconds(
        policy_name(description), situation_of(observation, record), description.policy.period
    )
    return observation.now - state.calculated_at >= period


def _consult(
    state: ControllerState, observation: Observation, record: ExperimentRecord
) -> tuple[ControllerState, Commands, Advice | None]:
    """Ask the policy service and wait for its answer; one question at a time, and nothing to ask other policies."""
    policy, now = record.description.policy, observation.now
    if policy_name(record.description) != REST_POLICY or policy.url is None:
        return state, (), None
    if state.asked_at is None:
        ask = AskPolicy(policy.url, policy.timeout, "the policy's period is over", policy_request(observation, record))
        return replace(state, asked_at=now), (ask,), None
    if observation.advice is not None:
        return replace(state, asked_at=None), (), observation.advice
    if now - state.asked_at < policy.timeout + ANSWER_GRACE_SECONDS:
        return state, (), None
    return replace(state, asked_at=None), (), Advice(error=f"no answer within {now - state.asked_at:.0f} s")


def _create(
    state: ControllerState, observation: Observation, record: ExperimentRecord, advice: Advice | None
) -> tuple[ControllerState, Commands]:
    decision = cautoscaler.initial(policy_name(record.description), situation_of(observation, record, advice))
    again = state.created_at is not None and state.released_at is None
    reason = f"the service is not there any more; {decision.reason}" if again else decision.reason
    state = replace(
        state,
        coherence=NO_ROW,
        decision=decision,
        calculated_at=observation.now,
        created_at=observation.now,
        released_at=None,
        noted=_likeness(decision),
    )
    entry = JournalEntry(
        at=observation.now, action="create", containers=decision.target, reason=reason, inputs=dict(decision.inputs)
    )
    return state, (CreateService(decision.target, reason), Journal(entry))


def _calculate(
    state: ControllerState, observation: Observation, record: ExperimentRecord, advice: Advice | None
) -> tuple[ControllerState, Commands]:
    autoscaler = AutoscalerState(policy_name(record.description), state.coherence)
    autoscaler, decision = cautoscaler.step(autoscaler, situation_of(observation, record, advice))
    commands: list[Command] = []
    if decision.verdict.acts:
        commands.append(ScaleService(decision.target, observation.requested, decision.reason))
    if decision.verdict.acts or _likeness(decision) != state.noted:
        commands.append(Journal(_entry(decision, observation.now)))
    state = replace(
        state,
        coherence=autoscaler.coherence,
        decision=decision,
        calculated_at=observation.now,
        noted=_likeness(decision),
    )
    return state, tuple(commands)


def _likeness(decision: Decision) -> tuple[Verdict, cautoscaler.Basis, int]:
    return decision.verdict, decision.basis, decision.clamped


def _entry(decision: Decision, now: float) -> JournalEntry:
    return JournalEntry(
        at=now,
        action=decision.verdict.value,
        containers=decision.target,
        reason=decision.reason,
        inputs={**decision.inputs, "needed": decision.needed, "clamped": decision.clamped},
    )
