"""How an experiment went, over time: containers requested and running, jobs done. Numbers for a picture, no picture."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from jqueuer.model import Policy
from jqueuer.simulation.driver import Simulation, Watching
from jqueuer.simulation.scenario import ScaleDown, Scenario

RECORDED_COLUMNS = ("seconds", "jobs_accomplished", "replicas_needed", "replicas_running")
"""What the file of a recorded run must have."""

_POINTS = 250
"""Jobs done are noted so often; more could not be told apart in a picture."""

Steps = tuple[tuple[float, float], ...]
"""``(moment, value)``: the value holds from the moment on until the next one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Curves:
    """One run; moments in seconds from the receipt."""

    name: str
    requested: Steps
    running: Steps
    done: Steps
    end_seconds: float
    deadline_seconds: float | None = None
    asked_for: str = "requested"
    """What the first of the curves shows: containers ``requested``, or, where that was not recorded, ``needed``."""


def simulated_curves(
    scenario: Scenario, policy: str | Policy, *, seed: int = 0, scale_down: ScaleDown | None = None
) -> Curves:
    """A scenario under a policy and one seed."""
    watching = Watching(trace=True)
    simulation = Simulation(scenario, policy=policy, seed=seed, scale_down=scale_down, watching=watching)
    done, stride = [(0.0, 0.0)], max(1, math.ceil(scenario.jobs / _POINTS))
    for count in range(stride, scenario.jobs + 1, stride):
        if not simulation.run(accomplished=count):
            break
        done.append((simulation.now, float(simulation.accomplished)))
    if not simulation.ended:
        simulation.run()
    outcome = simulation.outcome()
    done.append((outcome.finished_seconds, float(outcome.accomplished)))
    return Curves(
        name=outcome.policy,
        requested=tuple((moment, float(requested)) for moment, requested, _ in outcome.trace),
        running=tuple((moment, float(up)) for moment, _, up in outcome.trace),
        done=tuple(done),
        end_seconds=outcome.finished_seconds,
        deadline_seconds=outcome.deadline_seconds,
    )


def recorded_curves(name: str, samples: Iterable[Mapping[str, str]], deadline_seconds: float | None) -> Curves:
    """A recorded run from its samples, rows with :data:`RECORDED_COLUMNS`.

    It ends with its last job. Raises :class:`ValueError` for a row without a number, :class:`KeyError` for one without
    a column.
    """
    rows = [tuple(float(sample[column]) for column in RECORDED_COLUMNS) for sample in samples]
    if not rows:
        raise ValueError("there are no samples")
    most = max(done for _, done, _, _ in rows)
    return Curves(
        name=name,
        requested=tuple((seconds, needed) for seconds, _, needed, _ in rows),
        running=tuple((seconds, running) for seconds, _, _, running in rows),
        done=tuple((seconds, done) for seconds, done, _, _ in rows),
        end_seconds=next(seconds for seconds, done, _, _ in rows if done == most),
        deadline_seconds=deadline_seconds,
        asked_for="needed",
    )
