"""Straggler hedging: a second copy of a slow job, while containers idle and the deadline is in danger.

A copy is started where all of this holds:

- the experiment is hedged, all its jobs are begun, and a container idles that nobody is about to give up;
- a job that may run twice runs for longer than most do, and has no second copy yet;
- it is likelier to miss the deadline than the experiment's confidence allows;
- its copy is likely to end in time, or else to end first.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import Counter
from dataclasses import dataclass, replace
from typing import Final

from cautoscaler.forecasting import JobTimes, job_times
from cautoscaler.wording import amount
from jqueuer.controller.commands import Commands, CreateService, Hedge, ScaleService
from jqueuer.controller.observation import ControllerState, Observation
from jqueuer.controller.situation import situation_of
from jqueuer.records import ContainerStatus, ExperimentRecord, JournalEntry
from jqueuer.states import ContainerState

SLOW: Final = 0.8
"""A job is slow once it runs for longer than this share of all jobs take."""
CONTAINERS_PER_COPY: Final = 10
"""One copy at a time, and one more for every so many containers."""
LIKELY: Final = 0.5
UNEXPLAINED: Final = 1.0
"""Why a job runs for longer than any of its kind nobody knows: the chance that it goes on for as long again is even.
(The mean log-excess of a Pareto tail. The forecast's own may be far lighter: by it there are no such jobs.)"""

_TAKE_JOBS: Final = (ContainerState.STARTING, ContainerState.IDLE, ContainerState.BUSY)


def hedge(
    state: ControllerState, observation: Observation, record: ExperimentRecord, scaling: Commands
) -> tuple[ControllerState, Commands]:
    """Have a second copy started of one job at most; ``scaling`` is what this look does about the containers."""
    if not record.description.hedge:
        return state, ()
    containers = () if observation.service is None else observation.service.containers
    holders = Counter(container.job for container in containers if container.job is not None)
    state = replace(state, hedged=state.hedged & holders.keys())
    if record.deadline_at is None or observation.counts.queued or observation.queue_problem:
        return state, ()
    not_begun = state.hedged & observation.hedgeable
    copies = len(not_begun) + sum(number > 1 for number in holders.values())
    if _spare(observation, scaling) <= len(not_begun) or copies > len(containers) // CONTAINERS_PER_COPY:
        return state, ()
    eligible = {job for job in observation.hedgeable - state.hedged if holders[job] == 1}
    candidates = [container for container in containers if container.job in eligible]
    chosen = _chosen(candidates, _Outlook.of(state, observation, record)) if candidates else None
    if chosen is None:
        return state, ()
    return replace(state, hedged=state.hedged | {chosen.job_id}), (chosen,)


def _spare(observation: Observation, scaling: Commands) -> int:
    """Idle containers, less those that are more than requested: nobody can tell which of them will go."""
    requested = observation.requested
    for command in scaling:
        if isinstance(command, CreateService | ScaleService):
            requested = command.containers
    surplus = max(0, observation.containers(*_TAKE_JOBS) - requested)
    return observation.containers(ContainerState.IDLE) - surplus


def _chosen(candidates: list[ContainerStatus], outlook: _Outlook) -> Hedge | None:
    """The one that runs longest of those for which a copy is worth while."""
    for container in sorted(candidates, key=lambda one: outlook.age_seconds(one), reverse=True):
        if container.job is not None and outlook.worth_a_copy(outlook.age_seconds(container)):
            return Hedge(container.job, outlook.entry(container, container.job))
    return None


@dataclass(frozen=True, slots=True)
class _Outlook:
    """What is to be expected of jobs, running ones and copies, until the deadline."""

    now: float
    left_seconds: float
    """Until the deadline, less the margin."""
    confidence: float
    times: JobTimes
    idle: int

    @classmethod
    def of(cls, state: ControllerState, observation: Observation, record: ExperimentRecord) -> _Outlook:
        situation = situation_of(state, observation, record)
        times = job_times(
            estimate_seconds=situation.estimate_seconds * situation.tasks_per_job,
            durations=situation.measured.durations,
            history=situation.history,
            running_seconds=situation.running_seconds,
        )
        left = situation.seconds_left
        return cls(
            now=situation.now,
            left_seconds=max(0.0, 0.0 if left is None else left),
            confidence=situation.parameters.confidence,
            times=times,
            idle=situation.containers.idle,
        )

    @property
    def slow_seconds(self) -> float:
        return self.times.quantiles[int(SLOW * len(self.times.quantiles))]

    def age_seconds(self, container: ContainerStatus) -> float:
        return 0.0 if container.busy_since is None else max(0.0, self.now - container.busy_since)

    def late(self, age_seconds: float) -> float:
        """The probability that a job of this age is not done by the deadline."""
        return outlasts(self.times, age_seconds, self.left_seconds)

    def worth_a_copy(self, age_seconds: float) -> bool:
        if age_seconds <= self.slow_seconds or self.late(age_seconds) <= 1 - self.confidence:
            return False
        typical_seconds = self.times.quantiles[len(self.times.quantiles) // 2]
        in_time = 1 - self.late(0.0) >= LIKELY
        return in_time or outlasts(self.times, age_seconds, typical_seconds) >= LIKELY

    def entry(self, container: ContainerStatus, job_id: str) -> JournalEntry:
        age, late = self.age_seconds(container), self.late(self.age_seconds(container))
        with_copy = late * self.late(0.0)
        danger = "the deadline has passed"
        if self.left_seconds > 0:
            chances = f"{_percent(late)}, {_percent(with_copy)} with a copy"
            danger = f"the deadline is in {amount(self.left_seconds)} s, missed with a probability of {chances}"
        return JournalEntry(
            at=self.now,
            action="hedge",
            reason=(
                f"a second copy of {job_id} is started: it has been running for {amount(age)} s, "
                f"{_percent(SLOW)} of all jobs take less than {amount(self.slow_seconds)} s; {danger}"
            ),
            inputs={
                "job": job_id,
                "container": container.id,
                "running_seconds": round(age, 3),
                "slow_seconds": round(self.slow_seconds, 3),
                "seconds_left": round(self.left_seconds, 3),
                "confidence": self.confidence,
                "probability_late": round(late, 3),
                "probability_late_with_copy": round(with_copy, 3),
                "idle": self.idle,
            },
        )


def outlasts(times: JobTimes, age_seconds: float, seconds: float) -> float:
    """The probability that a job which has run for so long goes on for ``seconds`` more."""
    if seconds <= 0:
        return 1.0
    return math.exp(_log_survival(times, age_seconds + seconds) - _log_survival(times, age_seconds))


def _log_survival(times: JobTimes, seconds: float) -> float:
    """The logarithm of the probability that a job takes longer; beyond the last quantile a Pareto tail goes on."""
    quantiles = times.quantiles
    below, strata = bisect_right(quantiles, seconds), len(quantiles)
    if below < strata:
        return math.log1p(-below / strata)
    return -math.log(2 * strata) - math.log(seconds / quantiles[-1]) / max(times.tail, UNEXPLAINED)


def _percent(share: float) -> str:
    return f"{amount(round(100 * share, 1))} %"
