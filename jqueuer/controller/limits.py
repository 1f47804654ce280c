"""What keeps an experiment from having as many containers as it wants: its share of the cluster, and refusals."""

from __future__ import annotations

from dataclasses import dataclass, replace

from cautoscaler.wording import plural
from jqueuer.controller.observation import ControllerState, Observation

UNPLACED_SECONDS = 5.0
"""Containers that have no node for so long count as refused; before that, Swarm is at work."""
TRY_AGAIN_SECONDS = 30.0
"""So often one more is requested of those that were refused."""


@dataclass(frozen=True, slots=True)
class Limited:
    """How many containers to request, and why it is fewer than wanted."""

    containers: int
    reason: str = ""
    """Empty where nothing limits."""


def wanted_of(state: ControllerState, observation: Observation) -> int:
    """What would be requested if nothing limited it."""
    return observation.requested if state.wanted is None else state.wanted


def limit(state: ControllerState, observation: Observation) -> Limited | None:
    """The wanted number within what there is room for; None where the share does not speak of so many yet."""
    wanted, share = wanted_of(state, observation), observation.share
    wish = wanted if state.placeable is None else min(wanted, state.placeable)
    if share is not None and not share.speaks_of(wish):
        return None
    if share is not None and share.containers < wish:
        return Limited(share.containers, share.reason(wanted))
    return Limited(wish, state.refusal if wish < wanted else "")


def note_refusals(state: ControllerState, observation: Observation) -> ControllerState:
    """Remember how many containers the orchestrator found a node for, and try one more now and then."""
    service, now = observation.service, observation.now
    if service is None:
        return state
    if service.unplaced == 0:
        if state.unplaced_since is not None:
            state = replace(state, unplaced_since=None)
        if state.placeable is None or now - state.refused_at < TRY_AGAIN_SECONDS:
            return state
        if state.placeable >= wanted_of(state, observation):
            return replace(state, placeable=None, refusal="")
        return replace(state, placeable=state.placeable + 1, refused_at=now)
    since = now if state.unplaced_since is None else state.unplaced_since
    if now - since < UNPLACED_SECONDS:
        return replace(state, unplaced_since=since)
    placeable = max(0, service.requested - service.unplaced)
    refusal = f"{placeable} of {plural(wanted_of(state, observation), 'container')} can be placed"
    refusal += f": {service.problem}" if service.problem else ""
    return replace(state, unplaced_since=since, placeable=placeable, refusal=refusal, refused_at=now)
