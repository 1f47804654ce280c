"""The scenario suite, and what each policy is told in each scenario.

A policy that needs a parameter gets the one a user would reckon beforehand: from the jobs, the estimate (right or
wrong) and the deadline as it is at first.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from statistics import median

from jqueuer.descriptor.policies import known_policies
from jqueuer.model import Policy
from jqueuer.simulation import Scenario
from jqueuer.simulation.bound import FEASIBLE_SHARE, LOOSE_CONTAINERS, LOOSE_FACTOR, OTHER_SEEDS, bound
from jqueuer.simulation.bound import finish_at_maximum as finish
from jqueuer.simulation.files import load
from jqueuer.simulation.scenario import ScaleDown

SUITE = Path(__file__).parents[1] / "experiments" / "scenarios" / "suite"
POLICIES = known_policies()

SAFE_PART = 0.9
"""Of the time until the deadline: by then users who reckon for themselves want to be done."""
SPARE = 1.1
"""Budget ÷ work at the estimate."""
BACKLOG_PART = 0.1
"""Of the time until the deadline: the longest that ``queue-length`` lets a container's share of the queue take."""


@cache
def names() -> tuple[str, ...]:
    """The scenarios' names, sorted."""
    return tuple(sorted(path.stem for path in SUITE.glob("*.yaml")))


@cache
def scenario(name: str) -> Scenario:
    """The scenario of this name."""
    return load(SUITE / f"{name}.yaml")


def policy(name: str, given: Scenario) -> Policy:
    """A policy with its parameters for a scenario."""
    experiment = given.experiment
    estimate_seconds, deadline_seconds = experiment.estimate, experiment.deadline
    if not isinstance(deadline_seconds, float):
        raise ValueError(f"scenario {given.name!r} has no deadline: in the suite each has one")
    work_seconds = given.jobs * estimate_seconds
    reckoned = math.ceil(work_seconds / (SAFE_PART * deadline_seconds))
    reckoned = min(experiment.containers.max, max(1, reckoned))
    parameters: dict[str, dict[str, object]] = {
        "budget": {"budget": {"container_hours": SPARE * work_seconds / 3600}},
        "fixed": {"containers": reckoned},
        "queue-length": {"jobs_per_container": max(1.0, BACKLOG_PART * deadline_seconds / estimate_seconds)},
        "schedule": {
            # as much as ``fixed`` in all, but most of it in the first half of the time
            "schedule": [
                {"from": "00:00", "to": _clock(deadline_seconds / 2), "containers": math.ceil(reckoned * 1.5)}
            ],
            "containers": math.ceil(reckoned / 2),
        },
        "target-duration": {"target": SAFE_PART * deadline_seconds},
    }
    return Policy.model_validate({"name": name, **parameters.get(name, {})})


def scale_down(policy_name: str, given: Scenario) -> ScaleDown:
    """Containers drain, as they do today; only the authors' code of 2018 is run as its cluster was, if that killed."""
    return given.cluster.scale_down if policy_name == "deadline-2018" else "drain"


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What a scenario allows at all, by ``fixed`` at the maximum under seeds that no policy is run with."""

    met_at_maximum: float
    """The share of these seeds in which the deadline is met."""
    slack: float
    """Deadline ÷ median finish at the maximum."""
    bound_hours: float | None
    """Container-hours, median; None where there is no bound under most of the seeds."""
    bound_containers: float | None
    feasible: bool
    loose: bool
    """Feasible, with much to be saved."""


def limits(name: str) -> Limits:
    """Whether a scenario is feasible, and loose."""
    given = scenario(name)
    deadline = given.deadline_seconds or math.inf
    finishes = [finish(given, seed) for seed in OTHER_SEEDS]
    met = sum(seconds <= deadline for seconds in finishes) / len(finishes)
    bounds = [one for seed in OTHER_SEEDS if (one := bound(given, seed)) is not None]
    bounded = len(bounds) > len(finishes) / 2
    containers = median(one.containers for one in bounds) if bounded else None
    feasible = met >= FEASIBLE_SHARE
    slack = deadline / median(finishes)
    return Limits(
        met_at_maximum=met,
        slack=slack,
        bound_hours=median(one.container_seconds for one in bounds) / 3600 if bounded else None,
        bound_containers=containers,
        feasible=feasible,
        loose=feasible and slack >= LOOSE_FACTOR and (containers or 0) >= LOOSE_CONTAINERS,
    )


def _clock(seconds: float) -> str:
    minutes = max(1, round(seconds / 60))
    return f"{minutes // 60 % 24:02d}:{minutes % 60:02d}"
