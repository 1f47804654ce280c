"""The watchdog: jobs wait, containers idle, and nobody takes any; whatever the reason, it is repaired and told.

First the queue is emptied and filled again from the store: messages are only ids, so nothing is lost with them. What
idles on and on while jobs wait is replaced: its manager hangs, or hears nothing of its queue. It holds no job, so there
is no outcome that could be lost; should it have taken one at the last moment, that is fenced off and runs again.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Final

from cautoscaler.wording import amount, plural
from jqueuer.controller.commands import Commands, Journal, ReplaceContainers, RepublishQueued
from jqueuer.controller.observation import ControllerState, Observation
from jqueuer.controller.watch import NOTHING_TO_WATCH, Idling, Watch
from jqueuer.records import ContainerStatus, JournalEntry
from jqueuer.states import ContainerState

PATIENCES_TO_REPLACE: Final = 2
"""After so many times the patience that the queue is given, a container that idles is replaced."""
LOOKS_TO_REPLACE: Final = 60
"""So often at least it must have been seen idle: one that runs jobs of milliseconds idles at most looks, not at all."""
_NAMED: Final = 5


def watch(state: ControllerState, observation: Observation, waiting: int) -> tuple[ControllerState, Commands]:
    """Repair what keeps idle containers from ``waiting`` jobs, which are due and were published."""
    idle = _idle(observation)
    if waiting <= 0 or not idle or observation.queue_problem:
        rested = state if state.watch is NOTHING_TO_WATCH else replace(state, watch=NOTHING_TO_WATCH)
        return rested, ()
    seen = _looked(state.watch, observation, idle)
    now, patience = observation.now, observation.patience_seconds
    stuck = [
        one.container
        for one in seen.idle
        if now - one.since >= PATIENCES_TO_REPLACE * patience and one.looks >= LOOKS_TO_REPLACE
    ]
    if stuck:
        seen = replace(seen, idle=tuple(one for one in seen.idle if one.container not in stuck))
        return replace(state, watch=seen), _replace(observation, tuple(stuck))
    if seen.still_since is not None and now - seen.still_since >= patience and not seen.refilled:
        return replace(state, watch=replace(seen, refilled=True)), _refill(observation, waiting, len(idle))
    return replace(state, watch=seen), ()


def _idle(observation: Observation) -> list[ContainerStatus]:
    """The containers that could take a job."""
    containers = () if observation.service is None else observation.service.containers
    at_work = Counter(observation.others_at_work)
    at_work.update(one.node for one in containers if one.state is not ContainerState.IDLE)
    idle = (one for one in containers if one.state is ContainerState.IDLE)
    return [one for one in idle if at_work[one.node] < observation.jobs_per_node]


def _looked(watch: Watch, observation: Observation, idle: list[ContainerStatus]) -> Watch:
    now, claims = observation.now, observation.statistics.attempts
    known = {(one.container, one.claimed_at): one for one in watch.idle}
    idling = tuple(
        replace(before, looks=before.looks + 1)
        if (before := known.get((one.id, one.claimed_at)))
        else Idling(one.id, now, 1, one.claimed_at)
        for one in idle
    )
    if watch.still_since is None or claims != watch.claims:
        return Watch(claims=claims, still_since=now, idle=idling)
    return replace(watch, idle=idling)


def _refill(observation: Observation, waiting: int, idle: int) -> Commands:
    reason = (
        f"{plural(waiting, 'job')} waiting, {plural(idle, 'container')} idle, and none was begun for "
        f"{amount(observation.patience_seconds)} s: the job queue is emptied and filled again"
    )
    return RepublishQueued(reason, emptied=True), _told(observation, reason)


def _replace(observation: Observation, stuck: tuple[str, ...]) -> Commands:
    names = ", ".join(stuck[:_NAMED]) + (" …" if len(stuck) > _NAMED else "")
    verb, them = ("idles", "it is") if len(stuck) == 1 else ("idle", "they are")
    reason = (
        f"{plural(len(stuck), 'container')} {verb} while jobs wait, for "
        f"{amount(PATIENCES_TO_REPLACE * observation.patience_seconds)} s and longer: {them} replaced ({names})"
    )
    return ReplaceContainers(stuck, reason), _told(observation, reason)


def _told(observation: Observation, reason: str) -> Journal:
    return Journal(JournalEntry(at=observation.now, action="watchdog", reason=reason))
