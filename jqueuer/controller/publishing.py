"""Filling the job queue: the first time in batches, and again where its messages were lost."""

from __future__ import annotations

from dataclasses import replace

from cautoscaler.wording import plural
from jqueuer.controller.commands import Commands, Journal, PublishNext, RepublishQueued
from jqueuer.controller.observation import ControllerState, Observation
from jqueuer.records import ExperimentRecord, JournalEntry

BATCH_JOBS = 1000
BATCHES_PER_STEP = 5
"""No step publishes more, so that no experiment keeps the others waiting."""
STARVED_SECONDS = 3.0
"""A queue empty for so long, while a container waits, has lost its messages; a claim under way takes far less."""
REPUBLISH_SECONDS = 5.0


def publish(
    state: ControllerState, observation: Observation, record: ExperimentRecord
) -> tuple[ControllerState, Commands]:
    """The next batches of a first publication, or a republication where messages were lost."""
    total, published = observation.counts.total, record.published
    if observation.queue_problem:
        return state, ()
    if published < total:
        stop = min(total, published + BATCHES_PER_STEP * BATCH_JOBS)
        batches = tuple(
            PublishNext(start, min(BATCH_JOBS, stop - start), f"{published} of {plural(total, 'job')} published so far")
            for start in range(published, stop, BATCH_JOBS)
        )
        return replace(state, starved_since=None), batches
    state, lost = messages_lost(state, observation, observation.counts.queued - observation.delayed)
    if not lost:
        return state, ()
    reason = f"{plural(observation.counts.queued, 'job')} queued, but the job queue is empty: messages were lost"
    entry = JournalEntry(at=observation.now, action="requeue", reason=reason)
    return state, (RepublishQueued(reason), Journal(entry))


def messages_lost(state: ControllerState, observation: Observation, waiting: int) -> tuple[ControllerState, bool]:
    """Whether what waits has waited too long in front of an empty queue; said once, then not for a while."""
    now = observation.now
    known_empty = not observation.queue_length and not observation.queue_problem
    if waiting <= 0 or not known_empty or not observation.somebody_waits_for_jobs:
        return (state if state.starved_since is None else replace(state, starved_since=None)), False
    since = now if state.starved_since is None else state.starved_since
    starved = now - since >= STARVED_SECONDS
    recently = state.republished_at is not None and now - state.republished_at < REPUBLISH_SECONDS
    if not starved or recently:
        return replace(state, starved_since=since), False
    return replace(state, starved_since=None, republished_at=now), True
