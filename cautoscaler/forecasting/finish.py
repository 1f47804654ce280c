"""When an experiment will end with so many containers: list scheduling of what is left, on every path.

The jobs left go, in order, to the container that is free first, which is what a queue and its containers do. On the
same draws one more container ends no job later (without contention), so forecasts never contradict each other.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from heapq import heapify, heapreplace
from operator import add
from typing import Final

from cautoscaler.forecasting import contention
from cautoscaler.forecasting.failing import failures
from cautoscaler.forecasting.job_times import job_times
from cautoscaler.forecasting.paths import Path, draw
from cautoscaler.situation import Situation

UNKNOWN_START_SECONDS: Final = 15.0
"""From asking for a container until it takes jobs, as long as none has come up."""
PATHS: Final = 40
"""Enough to decide by; who shows the forecast to people, or promises by it, takes more."""
MANY_PATHS: Final = 400
AT_FULL: Final = 32
"""Up to so many containers all paths are drawn; of more each path is itself an average, so fewer do, but …"""
FEWEST_PATHS: Final = 16
LARGEST_MODEL: Final = 256
"""More containers than these are forecast on a smaller model of the same proportions."""
AMPLY: Final = 4.0
"""The draws are fine enough for so many times the containers that the mean asks for."""
FEWEST_CONTAINERS: Final = 8


@dataclass(frozen=True, slots=True)
class Finish:
    """A forecast for one number of containers; seconds from now."""

    containers: int
    ends: tuple[float, ...]
    """When the last job ends, on each path, earliest first; all are equally likely."""
    container_seconds: float
    """What will have been paid for from now on, on average: each container until it finds no job any more."""

    def probability(self, seconds: float) -> float:
        """That the last job has ended within so many seconds; between two paths interpolated."""
        ends = self.ends
        if seconds <= 0:
            return 1.0 if ends[-1] <= 0 else 0.0
        below = sum(end <= seconds for end in ends)
        if below == 0 or below == len(ends):
            return below / len(ends)
        earlier, later = ends[below - 1], ends[below]
        part = (seconds - earlier) / (later - earlier) if later > earlier else 0.0
        return (below - 0.5 + part) / len(ends)

    def quantile(self, probability: float) -> float:
        """So many seconds suffice with this probability."""
        position = probability * len(self.ends) - 0.5
        below = min(len(self.ends) - 1, max(0, int(position)))
        above = min(len(self.ends) - 1, below + 1)
        part = min(1.0, max(0.0, position - below))
        return self.ends[below] + part * (self.ends[above] - self.ends[below])


class FinishModel:
    """Forecasts of one situation for any number of containers; each is worked out once."""

    def __init__(self, situation: Situation, paths: int = PATHS) -> None:
        measured = situation.measured
        self.times = job_times(
            estimate_seconds=situation.estimate_seconds * situation.tasks_per_job,
            durations=measured.durations,
            history=situation.history,
            running_seconds=situation.running_seconds,
        )
        variation = self.times.variance**0.5 / self.times.mean_seconds
        self.contention = contention.fit(measured.concurrency, variation=variation)
        self.start_seconds = UNKNOWN_START_SECONDS if measured.start_seconds is None else measured.start_seconds
        self._situation = situation
        useful = self._useful()
        self._scale = max(1.0, useful / LARGEST_MODEL)
        self._containers = max(1, round(useful / self._scale))
        staying = len(situation.running_seconds) - situation.draining_running
        self._running = self._thinned(situation.running_seconds[:staying])
        self._staying = len(self._running)
        self._running += self._thinned(situation.running_seconds[staying:])
        self._paths = self._draw(max(min(paths, FEWEST_PATHS), min(paths, paths * AT_FULL // self._containers)))
        self._idle = situation.containers.idle
        self._found: dict[tuple[int, int], Finish] = {}
        self._work_seconds = sorted(path.scale * sum(path.work) for path in self._paths)

    def _useful(self) -> int:
        """So many containers the draws must be good for: no more are of use, or far from being needed."""
        situation, left = self._situation, self._situation.seconds_left
        most = max(1, min(situation.maximum, situation.jobs_left))
        if left is None or left <= 0:
            return most
        need = situation.jobs_left * self.times.mean_seconds / left
        return min(most, max(situation.requested, FEWEST_CONTAINERS, math.ceil(min(most, AMPLY * need))))

    def _thinned(self, seconds: tuple[float, ...]) -> tuple[float, ...]:
        """As many of them as the smaller model has room for, evenly chosen."""
        if self._scale == 1:
            return seconds
        return tuple(seconds[int(index * self._scale)] for index in range(int(len(seconds) / self._scale)))

    def _draw(self, paths: int) -> tuple[Path, ...]:
        situation, measured = self._situation, self._situation.measured
        queued = max(0, situation.jobs_left - len(situation.running_seconds))
        return draw(
            self.times,
            queued=round(queued / self._scale),
            running_seconds=self._running,
            containers=self._containers,
            failures=failures(measured, situation.most_attempts, self.times.mean_seconds),
            paths=paths,
        )

    def work_seconds(self, probability: float) -> float:
        """So much is to be begun yet at most, with this probability, at the contention measured so far."""
        return self._scale * self._work_seconds[min(len(self._work_seconds) - 1, int(probability * len(self._paths)))]

    def finish(self, containers: int, then: int = 0) -> Finish:
        """The forecast for so many containers from now on.

        With ``then`` more are asked for once the next job has ended: what is still possible after having learned from
        it how long jobs take.
        """
        key = containers, max(containers, then)
        if key not in self._found:
            self._found[key] = self._work_out(*key)
        return self._found[key]

    def _work_out(self, containers: int, then: int) -> Finish:
        factor = self.contention.factor(then)
        delay, scale = self.start_seconds, self._scale
        ages = self._thinned(self._situation.starting_seconds)
        starting = sorted(max(delay - age, 0.1 * delay, 0.3 * age - delay) for age in ages)
        many = max(1, round(containers / scale)) if containers else 0
        later = max(0, round(then / scale) - many)
        learned = max(0.0, delay + self.times.mean_seconds - max(self._situation.running_seconds, default=0.0))
        ends, paid = list[float](), 0.0
        for path in self._paths:
            slower = path.scale * factor
            free = self._free(path, many)
            missing = many - len(free)
            free += [seconds / slower for seconds in starting[:missing]]
            free += [delay / slower] * (many - len(free))
            free += [learned + delay / slower] * later
            end, spent = _schedule(path, free)
            ends.append(end * slower)
            paid += spent * slower
        ends.sort()
        return Finish(containers, tuple(ends), paid * scale / len(self._paths))

    def _free(self, path: Path, many: int) -> list[float]:
        """When those of the present containers that are kept are free: idle ones first, then those with a job."""
        idle = min(many, round(self._idle / self._scale))
        return [0.0] * idle + list(path.running[: self._staying][: many - idle])


def _schedule(path: Path, free: list[float]) -> tuple[float, float]:
    """(when the last job ends, container-seconds paid) on one path, in its own unit of time."""
    last, work = max(path.running, default=0.0), path.work
    if not free:
        return (math.inf if work else last), sum(path.running)
    if work:
        heapify(free)
        begun = [heapreplace(free, free[0] + duration) for duration in work]
        last = max(last, max(map(add, begun, work)))
    return last, sum(free)
