"""What a scenario allows at all: whether its deadline is feasible, and the least it could cost.

*Feasible*: ``fixed`` at the maximum meets the deadline in at least 99 % of 200 seeds. *Bound*: what somebody who knew
every duration and every failure beforehand would pay at the least, even if no container ever waited for its last job:
all attempts' job-seconds, at their durations while *k* containers are busy, and the start-up of *k* containers, for the
cheapest *k* with enough capacity before the deadline. A relaxation: no schedule need reach it, and none can beat it
with the same number of containers all the time. *Loose*: the deadline is at least twice what ``fixed`` at the maximum
takes, and the bound uses at least three containers.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from statistics import median

from jqueuer.simulation import streams
from jqueuer.simulation.contention import slowness
from jqueuer.simulation.scenario import Scenario
from jqueuer.simulation.world import CHANGE, World

OTHER_SEEDS = range(1_000_000, 1_000_200)
"""The seeds by which feasibility is judged; nobody runs policies under them."""
FEASIBLE_SHARE = 0.99
LOOSE_FACTOR = 2.0
LOOSE_CONTAINERS = 3


@dataclass(frozen=True, slots=True)
class Bound:
    """The least a scenario could cost under one seed, and the number of containers for which that holds."""

    container_seconds: float
    containers: int


def finish_at_maximum(scenario: Scenario, seed: int) -> float:
    """When ``fixed`` at the maximum is finished, in seconds from the receipt; infinite where it never is.

    The world without its controller: all jobs are published and the maximum is requested at once, or as many as there
    are jobs, which is what ``fixed`` does; and the end is noticed at the next regular look.
    """
    world = World(scenario, seed, "drain", traced=False)
    for change in scenario.changes:
        if change.maximum is not None:
            world.plan(change.at, CHANGE, lambda number=change.maximum: world.request(number))  # type: ignore[misc]
    limits = scenario.experiment.containers
    world.request(min(limits.max, max(limits.min, scenario.jobs)))
    world.publish(world.jobs.total)
    world.finish()
    return math.inf if world.jobs.left else world.next_look(world.now)


def feasible(scenario: Scenario, seeds: Iterable[int] = OTHER_SEEDS) -> bool:
    """Whether the deadline can be met; always without one."""
    deadline = scenario.deadline_seconds
    if deadline is None:
        return True
    met = [finish_at_maximum(scenario, seed) <= deadline for seed in seeds]
    return sum(met) >= FEASIBLE_SHARE * len(met)


def bound(scenario: Scenario, seed: int) -> Bound | None:
    """The bound under one seed; None where even the maximum has not enough capacity before the deadline."""
    job_seconds, longest = _work(scenario, seed)
    deadline = math.inf if scenario.deadline_seconds is None else scenario.deadline_seconds
    best: Bound | None = None
    started = capacity = paid = 0.0
    for count, start_seconds in enumerate(_starts(scenario, seed), start=1):
        started = start_seconds if count == 1 else min(started, start_seconds)
        capacity += max(0.0, deadline - start_seconds)
        paid += start_seconds
        slow = slowness(scenario.contention, count)
        enough = capacity >= job_seconds * slow and started + longest <= deadline
        if enough and (best is None or job_seconds * slow + paid < best.container_seconds):
            best = Bound(job_seconds * slow + paid, count)
    return best


def loose(scenario: Scenario, seeds: Iterable[int]) -> bool:
    """Whether the deadline leaves room for saving: judged by the medians over these seeds."""
    deadline, seeds = scenario.deadline_seconds, tuple(seeds)
    if deadline is None:
        return False
    bounds = [bound(scenario, seed) for seed in seeds]
    containers = [one.containers for one in bounds if one is not None]
    if len(containers) < len(bounds):
        return False
    finish = median(finish_at_maximum(scenario, seed) for seed in seeds)
    return deadline >= LOOSE_FACTOR * finish and median(containers) >= LOOSE_CONTAINERS


def _work(scenario: Scenario, seed: int) -> tuple[float, float]:
    """Job-seconds of all attempts, node losses aside, and the longest job; without contention."""
    works, failing = streams.works(scenario, seed), streams.failures(scenario, seed)
    if failing is None:
        return math.fsum(works), max(works)
    on_failure = scenario.experiment.on_failure
    most = 1 if on_failure.action == "cancel" else on_failure.max_attempts
    attempts = [min(count + 1, most) for count in failing]
    pairs = list(zip(works, attempts, strict=True))
    return math.fsum(work * count for work, count in pairs), max(work * count for work, count in pairs)


def _starts(scenario: Scenario, seed: int) -> list[float]:
    """How long each of the containers asked for at once takes to come up, in the order of Swarm's placement."""
    cluster, changes = scenario.cluster, scenario.changes
    most = max([scenario.experiment.containers.max, *(change.maximum or 0 for change in changes)])
    pulls, delay = streams.image_pulls(scenario, seed), streams.start_delays(scenario, seed)
    if cluster.slots is not None:
        most = min(most, cluster.nodes * cluster.slots)
    return [max(pulls[index % cluster.nodes] + delay(), cluster.first_start) for index in range(most)]
