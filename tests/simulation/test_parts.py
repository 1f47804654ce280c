"""A simulation can be run in parts, looked into, and held."""

import pytest

from jqueuer.simulation import Scenario, Simulation, StuckError, simulate
from tests.simulation.building import scenario


def test_run_in_parts_it_comes_to_the_same() -> None:
    for seed in range(5):
        parts = Simulation(scenario(failures=0.1), seed=seed)
        for accomplished in (1, 15, 30, 45):
            assert parts.run(accomplished=accomplished)
            assert parts.accomplished == accomplished
        assert parts.run()
        assert parts.ended
        assert parts.outcome() == simulate(scenario(failures=0.1), seed=seed)


def test_more_jobs_than_there_are_are_not_waited_for() -> None:
    assert not Simulation(scenario()).run(accomplished=61)


def test_the_situation_is_the_one_a_policy_would_judge() -> None:
    part = Simulation(scenario(durations="60s"), policy="fixed")
    part.run(accomplished=15)
    now = part.situation()
    assert now.now == part.now == 5 + 3 * 60
    assert (now.jobs_total, now.jobs_accomplished, now.jobs_left) == (60, 15, 45)
    assert now.measured.durations.count == 15
    assert now.measured.start_seconds == 5
    assert now.containers.up == now.requested == 5
    assert sorted(now.running_seconds) == [0, 0, 0, 0, 0]


def test_its_situation_can_be_asked_for_without_changing_anything() -> None:
    asked = Simulation(scenario(), seed=3)
    asked.run(accomplished=20)
    assert asked.situation() == asked.situation()
    asked.run()
    assert asked.outcome() == simulate(scenario(), seed=3)


@pytest.mark.parametrize("share", [0.1, 0.25, 0.5, 0.75])
def test_held_it_keeps_as_many_containers_until_the_last_job_has_ended(share: float) -> None:
    held = Simulation(scenario(jobs=100, experiment={"deadline": "40m"}), seed=2)
    held.run(accomplished=round(share * 100))
    requested = held.situation().requested
    held.hold()
    held.run(accomplished=99)
    assert held.situation().requested == requested
    held.run()
    assert held.outcome().accomplished == 100


def test_held_it_still_replaces_what_is_lost() -> None:
    losing = scenario(jobs=100, node_loss=[{"at": "400s", "node": 1}], cluster={"slots": 1, "nodes": 6})
    held = Simulation(losing, policy="fixed")
    held.run(accomplished=10)
    held.hold()
    held.run(accomplished=90)
    assert held.situation().containers.up == 5


def test_a_simulation_that_cannot_end_says_why() -> None:
    nowhere: Scenario = scenario(node_loss=[{"at": "1m", "node": 1}], cluster={"nodes": 1})
    with pytest.raises(StuckError, match=r"'test' does not end under deadline-paper: .* with \d+ jobs left"):
        simulate(nowhere, seed=1)


def test_there_is_no_outcome_before_the_end() -> None:
    with pytest.raises(ValueError, match="not been run to its end"):
        Simulation(scenario()).outcome()
