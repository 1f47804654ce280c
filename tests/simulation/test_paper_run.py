"""The paper's own run, replayed: experiments/scenarios/paper-run.yaml (figures in tests/data/README.md)."""

from itertools import pairwise
from pathlib import Path

import pytest

from jqueuer.simulation import Outcome, simulate
from jqueuer.simulation.files import load

SCENARIO = load(Path(__file__).parents[2] / "experiments" / "scenarios" / "paper-run.yaml")
SEEDS = range(20)


@pytest.fixture(scope="module")
def runs() -> list[Outcome]:
    return [simulate(SCENARIO, policy="deadline-2018", seed=seed, scale_down="kill", trace=True) for seed in SEEDS]


def requested(run: Outcome) -> list[tuple[float, int]]:
    """The requested numbers and when each began, without the end."""
    steps = list[tuple[float, int]]()
    for moment, number, _ in run.trace:
        if number and (not steps or steps[-1][1] != number):
            steps.append((moment, number))
    return steps


def before_the_end(run: Outcome, seconds: float) -> int:
    """How many were requested so long before the end."""
    return [number for moment, number in requested(run) if moment <= run.finished_seconds - seconds][-1]


def has_the_recorded_shape(run: Outcome) -> bool:
    numbers = [number for _, number in requested(run)]
    ups = sum(later > earlier for earlier, later in pairwise(numbers))
    return (
        numbers[0] == 10
        and ups <= 2
        and before_the_end(run, 300) in (2, 3)
        and 0.94 <= run.finished_seconds / 5400 <= 1.01
        and 5 <= run.killed <= 12
        and (run.accomplished, run.attempts) == (500, 500 + run.killed)
    )


def test_it_has_the_recorded_shape(runs: list[Outcome]) -> None:
    """Starts at 10, down to 2 or 3, ends close to the deadline; each job killed on the way is run again."""
    assert sum(map(has_the_recorded_shape, runs)) >= 0.9 * len(SEEDS)


def test_the_first_job_starts_when_the_recorded_one_did(runs: list[Outcome]) -> None:
    assert {next(moment for moment, _, up in run.trace if up) for run in runs} == {168.0}


def test_without_kills_nothing_is_run_twice() -> None:
    drained = simulate(SCENARIO, policy="deadline-2018", scale_down="drain")
    assert (drained.killed, drained.attempts) == (0, 500)
