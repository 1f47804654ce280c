"""Policies compared: a scenario under several policies and seeds, summed up."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from statistics import median

from jqueuer.simulation.driver import simulate
from jqueuer.simulation.outcome import Outcome
from jqueuer.simulation.scenario import ScaleDown, Scenario


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """One policy over all seeds: medians, except for the share of deadlines met."""

    finished_seconds: float
    deadline_met: float | None
    """The share of seeds; None without a deadline."""
    container_seconds: float
    job_seconds: float
    used: float
    """The share of the paid time in which jobs ran."""
    killed: float
    peak_containers: float
    scale_actions: float

    def as_dict(self) -> dict[str, float | None]:
        """The summary as JSON."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Case:
    """One simulation to be run: what another process needs to know."""

    scenario: Scenario
    policy: str
    seed: int
    scale_down: ScaleDown | None = None


RunAll = Callable[[Callable[[Case], Outcome], Sequence[Case]], Iterable[Outcome]]
"""Applies a function to all cases and gives the results in their order: the built-in ``map``, or a process pool's."""


def run_case(case: Case) -> Outcome:
    """Run one."""
    return simulate(case.scenario, policy=case.policy, seed=case.seed, scale_down=case.scale_down)


def outcomes(
    scenario: Scenario,
    policies: Sequence[str],
    seeds: Iterable[int],
    *,
    scale_down: ScaleDown | None = None,
    run_all: RunAll = map,
) -> dict[str, tuple[Outcome, ...]]:
    """Every outcome by policy, in the order of the seeds; all policies meet the same jobs."""
    seeds = tuple(seeds)
    cases = [Case(scenario, policy, seed, scale_down) for policy in policies for seed in seeds]
    results = iter(tuple(run_all(run_case, cases)))
    return {policy: tuple(next(results) for _ in seeds) for policy in policies}


def run(
    scenario: Scenario,
    policies: Sequence[str],
    seeds: Iterable[int],
    *,
    scale_down: ScaleDown | None = None,
    run_all: RunAll = map,
) -> dict[str, Summary]:
    """The policies compared; ``run_all`` may spread the simulations over processes."""
    found = outcomes(scenario, policies, seeds, scale_down=scale_down, run_all=run_all)
    return {policy: summary(results) for policy, results in found.items()}


def summary(results: Sequence[Outcome]) -> Summary:
    """Medians over outcomes, and the share of deadlines met."""
    met = [result.deadline_met for result in results if result.deadline_met is not None]
    return Summary(
        finished_seconds=median(result.finished_seconds for result in results),
        deadline_met=sum(met) / len(met) if met else None,
        container_seconds=median(result.container_seconds for result in results),
        job_seconds=median(result.job_seconds for result in results),
        used=median(result.used for result in results),
        killed=median(result.killed for result in results),
        peak_containers=median(result.peak_containers for result in results),
        scale_actions=median(result.scale_actions for result in results),
    )
