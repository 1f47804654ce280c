"""From what is wanted to what is requested: as much as there is room for, told once."""

from __future__ import annotations

from dataclasses import replace

import cautoscaler
from cautoscaler import Decision, Verdict
from cautoscaler.decision import Scalar
from jqueuer.controller.commands import Command, Commands, CreateService, Journal, ScaleService
from jqueuer.controller.limits import Limited, limit, wanted_of
from jqueuer.controller.observation import ControllerState, Observation
from jqueuer.records import JournalEntry

GIVE_WAY = "give-way"
"""Fewer are requested because there is not room for all any more."""
LIMITED = "limited"
"""There is not room for all that are wanted, so the requested number stays."""


def create(state: ControllerState, observation: Observation) -> tuple[ControllerState, Commands]:
    """Create the service as the decision says, or as much of it as there is room for; that may be none."""
    limited, decision = limit(state, observation), state.decision
    if limited is None or decision is None:
        return state, ()
    again = state.created_at is not None and state.released_at is None
    reason = _sentence("the service is not there any more" if again else "", decision.reason, limited.reason)
    inputs = {**decision.inputs, **_limits(state, observation, limited)}
    entry = JournalEntry(
        at=observation.now, action="create", containers=limited.containers, reason=reason, inputs=inputs
    )
    state = replace(_settled(state, observation, limited), created_at=observation.now, released_at=None)
    return replace(state, noted=_likeness(decision)), (CreateService(limited.containers, reason), Journal(entry))


def follow(state: ControllerState, observation: Observation, new: Decision | None) -> tuple[ControllerState, Commands]:
    """Request what is wanted within what there is room for, at every look: either may have changed."""
    limited, requested = limit(state, observation), observation.requested
    if limited is None:
        return state, ()  # its share is worked out for the next look
    acting = state.decision if state.undone else None
    action, reason = _what_to_tell(state, observation, limited, acting, new)
    commands: list[Command] = []
    if limited.containers != requested:
        # only what the autoscaler decided counts as its action, not that room came and went
        commands.append(ScaleService(limited.containers, requested, reason, by_autoscaler=acting is not None))
    if action:
        decided = acting or new
        inputs = {} if decided is None else _inputs(decided)
        entry = JournalEntry(
            at=observation.now,
            action=action,
            containers=limited.containers,
            reason=reason,
            inputs={**inputs, **_limits(state, observation, limited)},
        )
        commands.append(Journal(entry))
    state = _settled(state, observation, limited)
    return (state if new is None else replace(state, noted=_likeness(new))), tuple(commands)


def _what_to_tell(
    state: ControllerState, observation: Observation, limited: Limited, acting: Decision | None, new: Decision | None
) -> tuple[str, str]:
    """The journal's word for what is done and the reason; no word where it was told before."""
    decided = acting or new
    reason = _sentence("" if decided is None else decided.reason, limited.reason)
    if limited.containers != observation.requested:
        if limited.containers < observation.requested and limited.reason:
            return GIVE_WAY, reason if acting else limited.reason
        return (acting.verdict if acting else Verdict.SCALE_UP).value, reason if acting else _room_again(state, limited)
    if limited.reason and _limit_told(state, observation, limited) != state.limit_told:
        return LIMITED, reason if acting else limited.reason
    if acting is not None and not limited.reason:
        return acting.verdict.value, reason
    if new is not None and not new.verdict.acts and _likeness(new) != state.noted:
        return new.verdict.value, reason
    return "", reason


def _room_again(state: ControllerState, limited: Limited) -> str:
    if limited.reason:
        return limited.reason
    if state.placeable is not None:
        return f"trying again whether there is a node for {limited.containers}"
    return f"there is room for all {limited.containers} wanted"


def _settled(state: ControllerState, observation: Observation, limited: Limited) -> ControllerState:
    """The state once the limited number is requested."""
    if not (limited.reason or state.undone) and state.wanted is None and state.limit_told is None:
        return state
    wanted = wanted_of(state, observation)
    return replace(
        state,
        wanted=wanted if limited.containers < wanted else None,
        undone=False,
        limit_told=_limit_told(state, observation, limited) if limited.reason else None,
    )


def _limit_told(state: ControllerState, observation: Observation, limited: Limited) -> tuple[int, int, str]:
    return limited.containers, wanted_of(state, observation), limited.reason


def _likeness(decision: Decision) -> tuple[Verdict, cautoscaler.Basis, int]:
    return decision.verdict, decision.basis, decision.clamped


def _inputs(decision: Decision) -> dict[str, Scalar]:
    return {**decision.inputs, "needed": decision.needed, "clamped": decision.clamped}


def _limits(state: ControllerState, observation: Observation, limited: Limited) -> dict[str, Scalar]:
    """What the journal keeps of the limit, beside the decision's own inputs."""
    if not limited.reason:
        return {}
    return {
        "requested": observation.requested,
        "wanted": wanted_of(state, observation),
        "room_for": limited.containers,
        "limit": limited.reason,
    }


def _sentence(*parts: str) -> str:
    return "; ".join(part for part in parts if part)
