"""From the records of an experiment that has ended to a scenario: the same jobs once more, under any policy.

Durations, failures, start delays and the pauses between jobs are those that were measured; chance has no part in it.
What records do not say is not replayed: why a container was lost, how long a job would have taken among fewer or more
neighbours, the moments at which its user changed something. The post command, which the simulator does not know, takes
as long as it did.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from statistics import fmean, median

from jqueuer.errors import JQueuerError
from jqueuer.model import Experiment
from jqueuer.records import Counts, ExperimentRecord, JournalEntry, Statistics
from jqueuer.simulation.curves import Curves
from jqueuer.simulation.distributions import Distribution
from jqueuer.simulation.outcome import Outcome
from jqueuer.simulation.scenario import Cluster, Scenario
from jqueuer.states import AttemptOutcome, ExperimentState

LOOK_SECONDS = 0.5
"""A manager's pause between two looks, unless its settings say otherwise."""
CREATE = "create"
"""The journal's word for the first request."""

_BY_ITSELF = (AttemptOutcome.ACCOMPLISHED, AttemptOutcome.FAILED, AttemptOutcome.TIMED_OUT)
_NOT_ACCOMPLISHED = (AttemptOutcome.FAILED, AttemptOutcome.TIMED_OUT)


class NoReplayError(JQueuerError):
    """The experiment cannot be replayed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ran:
    """One attempt that has ended; moments are seconds since the epoch."""

    job: int
    """Its job's place in the experiment."""
    container: str
    node: str
    started_at: float
    finished_at: float
    outcome: AttemptOutcome

    @property
    def seconds(self) -> float:
        """How long it took."""
        return self.finished_at - self.started_at


@dataclass(frozen=True, slots=True, kw_only=True)
class Records:
    """What is known of an experiment that has ended."""

    experiment: ExperimentRecord
    counts: Counts
    statistics: Statistics
    attempts: tuple[Ran, ...]
    """Of its jobs; those of the post command are not among them."""
    decisions: tuple[JournalEntry, ...]
    post_seconds: float = 0.0
    """How long the post command took, if there was one."""


def scenario_from_records(records: Records, *, look_seconds: float = LOOK_SECONDS) -> Scenario:
    """The scenario of what was recorded; ``look_seconds`` is the pause between two looks of its manager.

    :class:`NoReplayError` where there is nothing to replay.
    """
    experiment = records.experiment
    if not experiment.state.terminal or experiment.finished_at is None:
        raise NoReplayError(f"{experiment.id} is {experiment.state}: it can be replayed once it has ended")
    if experiment.description.container_name is not None:
        raise NoReplayError(f"{experiment.id} ran in its user's own service, which no policy scales")
    jobs = _by_job(records.attempts)
    if not jobs:
        raise NoReplayError(f"no job of {experiment.id} has ever ended by itself: nothing is known of their durations")
    failing = tuple(sum(one.outcome in _NOT_ACCOMPLISHED for one in jobs[job]) for job in sorted(jobs))
    durations = tuple(fmean(one.seconds for one in jobs[job]) for job in sorted(jobs))
    delays = start_delays(records)
    return Scenario(
        name=experiment.id,
        description=f"{experiment.id} as it was recorded",
        jobs=len(durations),
        durations=Distribution(values=durations),
        failing=failing if any(failing) else (),
        experiment=_described(experiment),
        cluster=Cluster(
            nodes=len({one.node for one in records.attempts}),
            start_delay=Distribution(values=delays) if delays else Distribution(constant=0.0),
        ),
        look=look_seconds,
        gap=job_gap(records),
    )


def recorded_outcome(records: Records) -> Outcome:
    """What it came to in reality. ``killed`` are all attempts lost with their container, for whatever reason."""
    experiment, counts, sums = records.experiment, records.counts, records.statistics
    if experiment.finished_at is None:
        raise NoReplayError(f"{experiment.id} has not ended")
    return Outcome(
        policy=experiment.description.policy.name,
        seed=0,
        finished_seconds=experiment.finished_at - experiment.created_at,
        deadline_seconds=_deadline_seconds(experiment),
        container_seconds=sums.container_seconds,
        job_seconds=math.fsum(one.seconds for one in records.attempts),
        killed=sums.killed,
        lost=0,
        attempts=len(records.attempts),
        accomplished=counts.accomplished,
        failed=counts.failed,
        cancelled=counts.cancelled + (experiment.state is ExperimentState.CANCELLED),
        peak_containers=sums.peak_containers,
        scale_ups=sums.scale_ups,
        scale_downs=sums.scale_downs,
    )


def with_post(outcome: Outcome, records: Records, *, look_seconds: float = LOOK_SECONDS) -> Outcome:
    """A simulated outcome with the post command after it: it takes one container, and its end is seen at a look."""
    if not records.post_seconds:
        return outcome
    finished = outcome.finished_seconds + math.ceil(records.post_seconds / look_seconds) * look_seconds
    container_seconds = outcome.container_seconds + finished - outcome.finished_seconds
    return replace(outcome, finished_seconds=finished, container_seconds=container_seconds)


def recorded_run(records: Records) -> Curves:
    """The recorded run over time; a container runs from its first job to its last."""
    start, end = records.experiment.created_at, records.experiment.finished_at
    requested, number = [(0.0, 0.0)], 0
    for entry in records.decisions:
        if entry.containers is not None and entry.containers != number:
            number = entry.containers
            requested.append((entry.at - start, float(number)))
    done = sorted(one.finished_at for one in records.attempts if one.outcome is AttemptOutcome.ACCOMPLISHED)
    spans = _spans(records.attempts).values()
    changes = sorted([(first, 1) for first, _ in spans] + [(last, -1) for _, last in spans])
    running, up = [(0.0, 0.0)], 0
    for at, change in changes:
        up += change
        running.append((at - start, float(up)))
    return Curves(
        name="recorded",
        requested=tuple(requested),
        running=tuple(running),
        done=((0.0, 0.0), *((at - start, float(count)) for count, at in enumerate(done, start=1))),
        end_seconds=(end or max(last for _, last in spans)) - start,
        deadline_seconds=_deadline_seconds(records.experiment),
    )


def start_delays(records: Records) -> tuple[float, ...]:
    """From asking for a container until it took its first job, in the order in which they were asked for.

    Which container answers which request nobody wrote down, so the first that took a job answers the oldest one; a
    request that was withdrawn, or came too late for a job, is given the median of the others.
    """
    ups = sorted(first for first, _ in _spans(records.attempts).values())
    delays = list[float | None]()
    pending, requested = list[tuple[int, float]](), 0

    def answer(until: float) -> None:
        while ups and ups[0] <= until:
            up_at = ups.pop(0)
            if pending:
                place, asked_at = pending.pop(0)
                delays[place] = max(0.0, up_at - asked_at)

    for entry in records.decisions:
        if entry.containers is None:
            continue
        answer(entry.at)
        # in a simulation the first request is made at the receipt, here at the first look after it
        asked_at = records.experiment.created_at if entry.action == CREATE and not delays else entry.at
        for _ in range(entry.containers - requested):
            pending.append((len(delays), asked_at))
            delays.append(None)
        if entry.containers < requested:
            del pending[max(0, len(pending) - (requested - entry.containers)) :]
        requested = entry.containers
    answer(math.inf)
    known = [delay for delay in delays if delay is not None]
    return tuple(median(known) if delay is None else delay for delay in delays) if known else ()


def job_gap(records: Records) -> float:
    """The mean pause of a container between two jobs while another one was waiting for it, in seconds.

    It holds all that is not within a job: recording the outcome, acknowledging the message, taking the next one,
    claiming its job.
    """
    ended_before = _previous_ends(records.attempts)
    gaps = list[float]()
    for attempts in _by_container(records.attempts).values():
        for earlier, later in pairwise(attempts):
            waiting_since = ended_before.get((later.job, later.started_at), -math.inf)
            if waiting_since <= earlier.finished_at - records.experiment.description.on_failure.backoff:
                gaps.append(max(0.0, later.started_at - earlier.finished_at))
    return fmean(gaps) if gaps else 0.0


def _described(experiment: ExperimentRecord) -> Experiment:
    """Its description as a scenario takes it: no calendar, no post command, no policy that is asked over a network."""
    description = experiment.description
    policy = description.policy
    if policy.url is not None:
        policy = policy.model_copy(update={"url": None, "name": policy.fallback})
    deadline = _deadline_seconds(experiment)
    return description.model_copy(update={"deadline": deadline, "policy": policy, "post": None})


def _deadline_seconds(experiment: ExperimentRecord) -> float | None:
    return None if experiment.deadline_at is None else experiment.deadline_at - experiment.created_at


def _by_job(attempts: Iterable[Ran]) -> dict[int, list[Ran]]:
    found = defaultdict[int, list[Ran]](list)
    for one in attempts:
        if one.outcome in _BY_ITSELF:
            found[one.job].append(one)
    return found


def _by_container(attempts: Iterable[Ran]) -> dict[str, list[Ran]]:
    found = defaultdict[str, list[Ran]](list)
    for one in sorted(attempts, key=lambda one: one.started_at):
        found[one.container].append(one)
    return found


def _spans(attempts: Iterable[Ran]) -> dict[str, tuple[float, float]]:
    """When each container began its first job, and ended its last."""
    found = _by_container(attempts)
    return {name: (ran[0].started_at, max(one.finished_at for one in ran)) for name, ran in found.items()}


def _previous_ends(attempts: Sequence[Ran]) -> dict[tuple[int, float], float]:
    """For every attempt but a job's first: when the one before it ended."""
    ordered = sorted(attempts, key=lambda one: (one.job, one.started_at))
    return {
        (later.job, later.started_at): earlier.finished_at
        for earlier, later in pairwise(ordered)
        if earlier.job == later.job
    }
