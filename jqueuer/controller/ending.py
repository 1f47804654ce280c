"""How an experiment ends: the post command, the outcome, and giving back what it held."""

from __future__ import annotations

from dataclasses import replace

from cautoscaler.wording import amount, plural
from jqueuer.controller.commands import (
    Command,
    Commands,
    CreateService,
    DeleteQueue,
    DestroyService,
    Finish,
    Journal,
    MoveTo,
    QueuePost,
    ScaleService,
    Settle,
)
from jqueuer.controller.observation import ControllerState, Observation
from jqueuer.controller.publishing import messages_lost
from jqueuer.controller.scaling import CREATE_AGAIN_SECONDS
from jqueuer.controller.watchdog import watch
from jqueuer.records import Counts, ExperimentRecord, JournalEntry
from jqueuer.states import ExperimentState, JobState

RELEASE_AGAIN_SECONDS = 5.0
"""Containers that are still requested so long after the end are given up again."""


def end(state: ControllerState, observation: Observation, record: ExperimentRecord) -> tuple[ControllerState, Commands]:
    """Every job has its outcome: run the post command if there is one, else finish."""
    if record.description.post is None:
        return _finish(state, observation, record)
    reason = f"{_outcomes(observation.counts)}; the post command follows"
    move = MoveTo(ExperimentState.FINISHING, (ExperimentState.RUNNING,), reason)
    state, kept = _keep_one(state.at_rest(), observation, record)
    entry = JournalEntry(at=observation.now, action="post", containers=1, reason=reason)
    return state, (move, QueuePost(reason), *kept, Journal(entry))


def run_post(
    state: ControllerState, observation: Observation, record: ExperimentRecord
) -> tuple[ControllerState, Commands]:
    """See the post command through, on one container."""
    if observation.post is not None and observation.post.terminal:
        return _finish(state, observation, record)
    state, commands = _keep_one(state, observation, record)
    if observation.post is None:
        return state, (QueuePost("the post command is not queued yet"), *commands)
    waiting = 1 if observation.post is JobState.QUEUED else 0
    state, lost = messages_lost(state, observation, waiting)
    if lost:
        return state, (QueuePost("the message of the post command was lost"), *commands)
    state, watching = watch(state, observation, waiting)
    return state, (*watching, *commands)


def release(state: ControllerState, observation: Observation) -> tuple[ControllerState, Commands]:
    """The experiment has ended or was deleted: give up service and queue, and settle once nothing runs any more."""
    now, record, commands = observation.now, observation.record, list[Command]()
    reason = "the experiment was deleted" if record is None else f"the experiment is {record.state}"
    first = state.released_at is None
    still = state.released_at is not None and now - state.released_at >= RELEASE_AGAIN_SECONDS
    if first or (still and observation.requested > 0):
        if observation.service is not None:
            commands.append(DestroyService(reason))
        commands.append(DeleteQueue(reason))
        if first and record is not None:
            why = f"{reason}: {record.reason}" if record.reason else reason
            commands.append(Journal(JournalEntry(at=now, action="release", containers=0, reason=why)))
        state = replace(state.at_rest(), released_at=now)
    elif _nothing_runs(observation):
        # a container that was still there may have declared the queue anew
        commands += [DeleteQueue(reason), Settle(f"{reason} and nothing of it runs any more")]
    return state, tuple(commands)


def _nothing_runs(observation: Observation) -> bool:
    containers = observation.requested or observation.containers()
    return not containers and not observation.counts.running and observation.post is not JobState.RUNNING


def _finish(
    state: ControllerState, observation: Observation, record: ExperimentRecord
) -> tuple[ControllerState, Commands]:
    outcome, reason = _outcome(observation, record)
    commands: list[Command] = []
    # the service goes first: if this is interrupted, the experiment is still active and somebody tries again
    if observation.service is not None:
        commands.append(DestroyService(reason))
    start_seconds = state.starts.mean_seconds  # for the forecast of the next experiment of this kind
    entry = JournalEntry(
        at=observation.now,
        action="finish",
        containers=0,
        reason=reason,
        inputs={
            "state": outcome.value,
            **observation.counts.model_dump(),
            "start_seconds": None if start_seconds is None else round(start_seconds, 3),
        },
    )
    if not observation.queue_problem:  # else it is deleted when the broker is there again
        commands.append(DeleteQueue(reason))
    commands += [Finish(outcome, (record.state,), reason), Journal(entry)]
    return replace(state.at_rest(), released_at=observation.now), tuple(commands)


def _keep_one(
    state: ControllerState, observation: Observation, record: ExperimentRecord
) -> tuple[ControllerState, Commands]:
    now, reason = observation.now, "the post command needs one container"
    if observation.service is None or state.released_at is not None:
        if state.created_at is not None and now - state.created_at < CREATE_AGAIN_SECONDS:
            return state, ()
        return replace(state, created_at=now, released_at=None), (CreateService(1, reason),)
    if observation.requested == 1 or record.description.container_name is not None:
        return state, ()
    return state, (ScaleService(1, observation.requested, reason, by_autoscaler=False),)


def _outcome(observation: Observation, record: ExperimentRecord) -> tuple[ExperimentState, str]:
    counts, faults = observation.counts, []
    if counts.total == 0:
        faults.append("it has no jobs")
    if counts.failed or counts.cancelled:
        faults.append(_outcomes(counts))
    if record.description.post is not None and observation.post is not JobState.ACCOMPLISHED:
        how = "was cancelled" if observation.post is JobState.CANCELLED else "failed"
        why = f": {observation.post_problem}" if observation.post_problem else ""
        faults.append(f"the post command {how}{why}")
    if faults:
        return ExperimentState.FAILED, "; ".join(faults)
    return ExperimentState.ACCOMPLISHED, f"{_outcomes(counts)}{_punctuality(observation.now, record.deadline_at)}"


def _outcomes(counts: Counts) -> str:
    if counts.accomplished == counts.total:
        return f"{plural(counts.total, 'job')} accomplished"
    parts = [
        f"{number} of {plural(counts.total, 'job')} {how}"
        for number, how in ((counts.failed, "failed"), (counts.cancelled, "cancelled"))
        if number
    ]
    return ", ".join(parts)


def _punctuality(now: float, deadline_at: float | None) -> str:
    if deadline_at is None:
        return ""
    early = deadline_at - now
    return f", {amount(early)} s before the deadline" if early >= 0 else f", {amount(-early)} s after the deadline"
