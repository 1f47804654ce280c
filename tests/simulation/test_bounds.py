"""What a scenario allows at all: feasible, loose, and the clairvoyant bound."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from jqueuer.simulation import Scenario, simulate
from jqueuer.simulation.bound import bound, feasible, finish_at_maximum, loose
from tests.simulation.building import scenario, scenarios

often = settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow])
SEEDS = st.integers(0, 1000)


@often
@given(scenarios(with_losses=False), SEEDS)
def test_the_finish_at_the_maximum_is_that_of_fixed(given_one: Scenario, seed: int) -> None:
    """But for the controller's part: it notices a lack of room, and lets containers go as jobs run out."""
    room = given_one.cluster.nodes * (given_one.cluster.slots or 1)
    if room >= given_one.experiment.containers.max:
        outcome = simulate(given_one, policy="fixed", seed=seed, scale_down="drain")
        assert finish_at_maximum(given_one, seed) == outcome.finished_seconds


@often
@given(scenarios(with_losses=False), SEEDS)
def test_whoever_is_on_time_pays_at_least_the_bound(given_one: Scenario, seed: int) -> None:
    """With contention too, for one number of containers all the time."""
    least = bound(given_one, seed)
    for containers in range(1, given_one.experiment.containers.max + 1):
        limits = given_one.experiment.containers.model_copy(update={"min": containers, "max": containers})
        one = given_one.model_copy(
            update={"experiment": given_one.experiment.model_copy(update={"containers": limits})}
        )
        outcome = simulate(one, policy="fixed", seed=seed, scale_down="drain")
        if outcome.deadline_met and outcome.peak_containers == containers <= given_one.jobs:
            assert least is not None
            assert least.container_seconds <= outcome.container_seconds * (1 + 1e-9)


def test_the_bound_of_a_simple_scenario() -> None:
    """60 jobs of 60 s are 3600 s of work; in 1200 s less the start of 5 s that takes 4 containers."""
    least = bound(scenario(durations="60s", experiment={"deadline": "20m"}), seed=0)
    assert least is not None
    assert (least.containers, least.container_seconds) == (4, 3600 + 4 * 5)


def test_a_bound_counts_every_attempt_and_the_slowness_of_its_containers() -> None:
    slow = scenario(durations="60s", contention={1: 1.0, 4: 1.25}, experiment={"deadline": "30m"})
    least = bound(slow, seed=0)
    assert least is not None
    assert (least.containers, least.container_seconds) == (3, pytest.approx(3600 * (1 + 0.25 * 2 / 3) + 15))
    failing = bound(scenario(durations="60s", failures=0.5, experiment={"deadline": "3h"}), seed=0)
    attempts = simulate(scenario(durations="60s", failures=0.5, experiment={"deadline": "3h"}), seed=0).attempts
    assert failing is not None
    assert failing.container_seconds == 60 * attempts + 5


def test_there_is_no_bound_where_there_is_no_capacity() -> None:
    assert bound(scenario(durations="60s", experiment={"deadline": "10m"}), seed=0) is None
    assert bound(scenario(durations="60s", jobs=2, experiment={"deadline": "61s"}), seed=0) is None


def test_a_deadline_is_feasible_where_the_maximum_meets_it_nearly_always() -> None:
    """5 containers need 5 s + 12 × 60 s."""
    assert feasible(scenario(durations="60s", experiment={"deadline": "725s"}))
    assert not feasible(scenario(durations="60s", experiment={"deadline": "724s"}))
    spread = {"log-normal": {"mean": "60s", "sigma": 1.0}}
    assert not feasible(scenario(durations=spread, experiment={"deadline": "15m"}))
    assert feasible(scenario(durations=spread, experiment={"deadline": "60m"}))


def test_a_deadline_is_loose_where_there_is_much_to_save() -> None:
    few = {"containers": {"min": 1, "max": 10}}
    assert loose(scenario(durations="60s", experiment={**few, "deadline": "21m"}), range(3))
    assert not loose(scenario(durations="60s", experiment={**few, "deadline": "12m"}), range(3))
    assert not loose(scenario(durations="60s", experiment={**few, "deadline": "2h"}), range(3))
