"""Policies compared over seeds."""

from multiprocessing import get_context
from statistics import median

from jqueuer.simulation import simulate
from jqueuer.simulation.study import outcomes, run
from tests.simulation.building import scenario

POLICIES = ("deadline-2018", "fixed")


def test_a_study_gives_medians_and_the_share_of_deadlines_met() -> None:
    tight = scenario(experiment={"deadline": "14m"})
    summed = run(tight, POLICIES, range(9))
    assert list(summed) == list(POLICIES)
    for policy in POLICIES:
        results = [simulate(tight, policy=policy, seed=seed) for seed in range(9)]
        assert summed[policy].finished_seconds == median(result.finished_seconds for result in results)
        assert summed[policy].container_seconds == median(result.container_seconds for result in results)
        assert summed[policy].used == median(result.used for result in results)
        assert summed[policy].deadline_met == sum(result.deadline_met is True for result in results) / 9
    shares = {summed[policy].deadline_met for policy in POLICIES}
    assert shares != {0.0}


def test_without_a_deadline_none_is_met_or_missed() -> None:
    assert run(scenario(experiment={"deadline": None}), ["fixed"], [0])["fixed"].deadline_met is None


def test_other_processes_come_to_the_same_outcomes() -> None:
    alone = outcomes(scenario(), POLICIES, range(4), scale_down="kill")
    with get_context("spawn").Pool(2) as pool:
        together = outcomes(scenario(), POLICIES, range(4), scale_down="kill", run_all=pool.map)
    assert alone == together
    assert sum(outcome.killed for outcome in alone["deadline-2018"]) > 0
