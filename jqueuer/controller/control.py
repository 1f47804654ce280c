"""The experiment controller: one look in, commands out (paper §IV-A.3).

::

             ┌────────────── running ──────────────┐
             │ jobs left: create, scale, publish,  │◄──resume──┐
             │ hedge                               │           │
             └──┬──────────────┬───────────────────┘           │
                │ none left    └──────────────pause──────► paused: request no container
        post?   ▼
      yes ─► finishing: one container until the post command is done
      no ──┐    │
           ▼    ▼
           finish ─► accomplished | failed ─┐
           cancelled by the user ───────────┼─► release service and queue ─► nothing runs: settle
           deleted ─────────────────────────┘
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Final

from jqueuer.controller.commands import Commands, CreateService, DestroyService, Journal, ScaleService
from jqueuer.controller.ending import end, release, run_post
from jqueuer.controller.hedging import hedge
from jqueuer.controller.observation import ControllerState, Observation
from jqueuer.controller.partial import give_up_jobs
from jqueuer.controller.publishing import publish
from jqueuer.controller.scaling import scale
from jqueuer.controller.starts import asked, looked
from jqueuer.controller.watchdog import watch
from jqueuer.records import ExperimentRecord, JournalEntry
from jqueuer.states import ExperimentState

TELL_AGAIN_SECONDS: Final = 600.0
"""A problem that lasts is told again so often."""

_NUMBER: Final = re.compile(r"[0-9]+")


def step(state: ControllerState, observation: Observation) -> tuple[ControllerState, Commands]:
    """What to do about an experiment as it looks now.

    The commands are carried out in order. Only if all were, the new state is kept; if one fails, or a ``MoveTo`` or
    ``Finish`` finds the experiment in another state, the rest is skipped and the old state kept: the next look leads to
    whatever is still to be done.
    """
    record = observation.record
    if observation.engine_problem:
        return _without_engine(state, observation)
    if record is None or record.state.terminal:
        return release(state, observation)
    state = replace(state, starts=looked(state.starts, observation.service, observation.now))
    state, complaints = _complain(state, observation)
    state, commands = _act(state, observation, record)
    return _with_requests(state, observation, commands), (*complaints, *commands)


def _with_requests(state: ControllerState, observation: Observation, commands: Commands) -> ControllerState:
    """Remember what is asked for, since the clock of its start runs from now on."""
    for command in commands:
        if isinstance(command, CreateService | ScaleService):
            starts = asked(state.starts, observation.service, command.containers, observation.now)
            state = replace(state, starts=starts)
    return state


def _act(
    state: ControllerState, observation: Observation, record: ExperimentRecord
) -> tuple[ControllerState, Commands]:
    if record.state is ExperimentState.PAUSED:
        return _pause(state, observation, record)
    if record.state is ExperimentState.FINISHING:
        return run_post(state, observation, record)
    if record.state is not ExperimentState.RUNNING:
        return state, ()
    if observation.counts.left == 0:
        return end(state, observation, record)
    if given_up := give_up_jobs(state, observation, record):
        return state, given_up
    state, scaling = scale(state, observation, record)
    state, publishing = publish(state, observation, record)
    if not publishing:
        state, publishing = watch(state, observation, observation.counts.queued - observation.delayed)
    state, hedging = hedge(state, observation, record, scaling)
    return state, (*scaling, *publishing, *hedging)


def _pause(
    state: ControllerState, observation: Observation, record: ExperimentRecord
) -> tuple[ControllerState, Commands]:
    state = state.at_rest()
    if observation.requested == 0:
        return state, ()
    reason = "paused: running jobs are finished, no new ones are begun"
    entry = JournalEntry(at=observation.now, action="pause", containers=0, reason=reason)
    if record.description.container_name is not None:  # the user's own service: let go of it, it is not ours to scale
        return replace(state, created_at=None), (DestroyService(reason), Journal(entry))
    return state, (ScaleService(0, observation.requested, reason, by_autoscaler=False), Journal(entry))


def _without_engine(state: ControllerState, observation: Observation) -> tuple[ControllerState, Commands]:
    """The containers go on meanwhile: give them jobs, and decide nothing else."""
    record = observation.record
    if record is None or record.state.terminal:
        return state, ()
    state, complaints = _complain(state, observation)
    if record.state is not ExperimentState.RUNNING or record.published >= observation.counts.total:
        return state, complaints
    state, publishing = publish(state, observation, record)
    return state, (*complaints, *publishing)


def _complain(state: ControllerState, observation: Observation) -> tuple[ControllerState, Commands]:
    """Tell what stands in the way."""
    engine = observation.engine_problem or ("" if observation.service is None else observation.service.problem)
    told: Commands = ()
    for problem in (engine, observation.queue_problem):
        if problem:
            state, more = _tell_problem(state, observation.now, problem)
            told += more
    return state, told


def _tell_problem(state: ControllerState, now: float, problem: str) -> tuple[ControllerState, Commands]:
    """Tell a problem once, also where it comes and goes, or only its numbers change."""
    likeness = _NUMBER.sub("#", problem)
    told = tuple((known, at) for known, at in state.problems_told if now - at < TELL_AGAIN_SECONDS)
    if any(known == likeness for known, _ in told):
        return replace(state, problems_told=told), ()
    entry = JournalEntry(at=now, action="problem", reason=problem)
    return replace(state, problems_told=(*told, (likeness, now))), (Journal(entry),)
