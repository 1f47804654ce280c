"""The scenario suite, and the program that compares policies over it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from functools import cache

import pytest

from benchmarks import suite
from benchmarks.calibration import MOMENTS, QUANTILES, Mark, in_a_copy, run_with_marks, shares
from jqueuer.descriptor.policies import needed_key, policy_notices
from jqueuer.simulation import Scenario, Simulation, simulate
from jqueuer.simulation.bound import finish_at_maximum

SCENARIOS = {name: suite.scenario(name) for name in suite.names()}
INFEASIBLE = {"impossible-promise", "one-job-too-long"}
QUICK = ("epidemic-sweep", "thesis-figures", "transcoding-estimate-double")


limits = cache(suite.limits)


def estimate_factor(scenario: Scenario) -> float:
    """The estimate ÷ the mean duration."""
    return scenario.experiment.estimate / scenario.durations.mean_seconds


def capacity_used(scenario: Scenario) -> float:
    """The work ÷ what the maximum can do until the deadline; 0 where jobs slow each other down."""
    seconds = (scenario.deadline_seconds or 0) - start_seconds(scenario)
    work = scenario.jobs * scenario.durations.mean_seconds
    return 0 if scenario.contention else work / scenario.experiment.containers.max / seconds


def start_seconds(scenario: Scenario) -> float:
    """The mean start delay."""
    return scenario.cluster.start_delay.mean_seconds


def changed_deadline(scenario: Scenario) -> float:
    """The new deadline ÷ the one before; 1 where it stays."""
    before = scenario.experiment.deadline
    assert isinstance(before, float)
    return (scenario.deadline_seconds or 0) / before


DIMENSIONS: dict[str, Callable[[Scenario], bool]] = {
    "estimate a quarter of the truth": lambda one: estimate_factor(one) == pytest.approx(0.25),
    "estimate half of the truth": lambda one: estimate_factor(one) == pytest.approx(0.5),
    "estimate twice the truth": lambda one: estimate_factor(one) == pytest.approx(2),
    "estimate four times the truth": lambda one: estimate_factor(one) == pytest.approx(4),
    "constant durations": lambda one: one.durations.constant is not None,
    "log-normal durations, sigma 0.5": lambda one: getattr(one.durations.log_normal, "sigma", 0) == 0.5,
    "log-normal durations, sigma 1": lambda one: getattr(one.durations.log_normal, "sigma", 0) == 1,
    "Pareto durations, alpha 1.5": lambda one: getattr(one.durations.pareto, "alpha", 0) == 1.5,
    "bimodal durations": lambda one: one.durations.bimodal is not None,
    "50 jobs": lambda one: one.jobs == 50,
    "10,000 jobs": lambda one: one.jobs == 10_000,
    "a deadline that takes 90 % of the capacity": lambda one: 0.89 <= capacity_used(one) <= 0.91,
    "a deadline that takes less than half of the capacity": lambda one: 0 < capacity_used(one) < 0.5,
    "a start delay of a second": lambda one: start_seconds(one) == 1,
    "a start delay of five minutes": lambda one: start_seconds(one) == 300,
    "no failures": lambda one: one.failures == 0,
    "every twentieth attempt fails": lambda one: one.failures == 0.05,
    "every fifth attempt fails": lambda one: one.failures == 0.2,
    "a node is lost for good": lambda one: any(loss.back is None for loss in one.node_loss),
    "a node is lost and comes back": lambda one: any(loss.back is not None for loss in one.node_loss),
    "contention": lambda one: max(one.contention.values(), default=0) > min(one.contention.values(), default=0),
    "an earlier deadline in mid-run": lambda one: changed_deadline(one) < 1,
    "a later deadline in mid-run": lambda one: changed_deadline(one) > 1,
}


@pytest.mark.parametrize("dimension", DIMENSIONS)
def test_the_suite_covers(dimension: str) -> None:
    assert any(map(DIMENSIONS[dimension], SCENARIOS.values()))


def test_the_suite_is_large_and_has_the_paper_s_run_in_it() -> None:
    assert len(SCENARIOS) >= 24
    assert SCENARIOS["paper-run"] == suite.load(suite.SUITE.parent / "paper-run.yaml")


@pytest.mark.parametrize("name", SCENARIOS)
def test_a_scenario_says_what_it_is_about_and_gives_every_policy_what_it_needs(name: str) -> None:
    scenario = SCENARIOS[name]
    assert scenario.name == name
    assert 20 < len(scenario.description) <= 120
    for policy_name in suite.POLICIES:
        policy = suite.policy(policy_name, scenario)
        assert policy_notices(policy) == ()
        assert not needed_key(policy_name) or getattr(policy, needed_key(policy_name))


@pytest.mark.parametrize("name", SCENARIOS)
def test_a_scenario_is_feasible_unless_it_says_that_it_is_not(name: str) -> None:
    assert limits(name).feasible == (name not in INFEASIBLE)
    assert ("Infeasible on purpose" in SCENARIOS[name].description) == (name in INFEASIBLE)
    if not 0.5 <= estimate_factor(SCENARIOS[name]) <= 2:
        assert limits(name).slack >= 1.5


def test_several_scenarios_are_loose() -> None:
    assert sum(limits(name).loose for name in SCENARIOS) >= 8


@pytest.mark.parametrize("name", QUICK)
def test_deadline_forecast_keeps_loose_deadlines_with_fewer_containers_and_kills_nothing(name: str) -> None:
    scenario = SCENARIOS[name]
    for seed in range(3):
        outcome = simulate(scenario, policy="deadline-forecast", seed=seed)
        assert outcome.deadline_met
        assert outcome.killed == 0
        assert outcome.finished_seconds > finish_at_maximum(scenario, seed)


def test_checking_the_forecast_does_not_change_the_run() -> None:
    scenario = SCENARIOS["thesis-figures"]
    watched = Simulation(scenario, policy="deadline-forecast", seed=3)
    marks = run_with_marks(watched, scenario.jobs)
    assert watched.outcome() == simulate(scenario, policy="deadline-forecast", seed=3)
    assert [mark.moment for mark in marks] == list(MOMENTS)
    for mark in marks:
        assert 0 < mark.finished_seconds < scenario.deadline_seconds
        assert mark.forecast_seconds == tuple(sorted(mark.forecast_seconds))


def test_the_share_of_a_quantile_is_that_of_the_finishes_it_did_not_exceed() -> None:
    marks = [Mark(0.5, (100.0, 200.0, 300.0), finished) for finished in (99.0, 100.0, 250.0, 400.0)]
    assert len(QUANTILES) == 3
    assert shares(marks) == (0.5, 0.5, 0.75)


def test_what_a_copy_of_the_process_does_is_not_done_here() -> None:
    here = [1]

    def add() -> tuple[int, list[int]]:
        here.append(2)
        return os.getpid(), here

    pid, there = in_a_copy(add)
    assert pid != os.getpid()
    assert (there, here) == ([1, 2], [1])
    with pytest.raises(RuntimeError, match="has failed, with status 1"):
        in_a_copy(lambda: here[7])


def test_the_comparison_ends_with_one_json_object() -> None:
    command = [sys.executable, "-m", "benchmarks.policies", "--only", "thesis-figures", "--seeds", "2"]
    policies = ["fixed", "deadline-forecast"]
    done = subprocess.run(
        [*command, "--policy", *policies], cwd=suite.SUITE.parents[2], capture_output=True, text=True, check=True
    )
    told = json.loads(done.stdout.splitlines()[-1])
    assert list(told) == ["bench", "seconds", "policies", "calibration", "events_per_second"]
    assert (told["bench"], sorted(told["policies"])) == ("policies", sorted(policies))
    for figures in told["policies"].values():
        assert list(figures) == ["met", "median_cost_ratio", "worst_cost_ratio", "killed"]
    assert list(told["calibration"]) == ["0.5", "0.8", "0.95"]
    assert "thesis-figures" in done.stdout
