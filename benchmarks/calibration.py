"""Is the forecast right? At some moments of a run its quantiles are compared with what then happens.

At each moment the process forks: the child, which has the whole simulated world as it is then, holds the number of
containers and lets it run to the end; the parent goes on as if nothing had been asked.
"""

from __future__ import annotations

import math
import os
import pickle
import traceback
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TypeVar

from cautoscaler.forecasting import FinishModel
from jqueuer.simulation import Simulation

QUANTILES = (0.5, 0.8, 0.95)
MOMENTS = (0.10, 0.25, 0.50, 0.75)
"""Shares of the jobs accomplished."""
PATHS = 200
"""Half of what a quote has."""
SAME = 1e-9
"""Relative: what differs by less differs by rounding."""

Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class Mark:
    """One forecast, and what came of it; seconds from the moment of the forecast."""

    moment: float
    forecast_seconds: tuple[float, ...]
    """At :data:`QUANTILES`."""
    finished_seconds: float

    def within(self, quantile: int) -> bool:
        """Whether the last job ended no later than this of the quantiles."""
        return self.finished_seconds <= self.forecast_seconds[quantile] * (1 + SAME)


def run_with_marks(simulation: Simulation, jobs: int) -> tuple[Mark, ...]:
    """Run a simulation to its end, and take a mark at every moment it comes to."""
    marks = []
    for moment in MOMENTS:
        if not simulation.run(math.ceil(moment * jobs)):
            break
        marks.append(in_a_copy(lambda moment=moment: _mark(simulation, moment, jobs)))  # type: ignore[misc]
    simulation.run()
    return tuple(marks)


def shares(marks: Iterable[Mark]) -> tuple[float, ...]:
    """For each of the quantiles the share of finishes that it did not exceed; it should be the quantile itself."""
    marks = tuple(marks)
    return tuple(
        sum(mark.within(index) for mark in marks) / len(marks) if marks else math.nan for index in range(len(QUANTILES))
    )


def _mark(simulation: Simulation, moment: float, jobs: int) -> Mark:
    situation = simulation.situation()
    finish = FinishModel(situation, PATHS).finish(situation.requested)
    begun = simulation.now
    simulation.hold()
    simulation.run(jobs)  # to the end of the last job; that it is noticed only at the next look is no forecast's fault
    return Mark(moment, tuple(finish.quantile(one) for one in QUANTILES), simulation.now - begun)


def in_a_copy(work: Callable[[], Result]) -> Result:
    """Do something in a copy of this process, so that nothing of it is left here but the result."""
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        status = 1
        try:
            os.close(reading)
            with os.fdopen(writing, "wb") as pipe:
                pickle.dump(work(), pipe)
            status = 0
        except Exception:
            traceback.print_exc()
        finally:
            os._exit(status)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        answer = pipe.read()
    _, status = os.waitpid(child, 0)
    if status:
        raise RuntimeError(f"a copy of this process has failed, with status {os.waitstatus_to_exitcode(status)}")
    result: Result = pickle.loads(answer)
    return result
