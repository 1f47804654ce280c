"""The controller that is simulated is the one of production, and skipping looks changes nothing."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from jqueuer.controller import Commands, ControllerState, Observation, step
from jqueuer.simulation import Scenario, Simulation, Watching, simulate
from tests.simulation.building import scenario, scenarios


def recorded(given_one: Scenario, seed: int) -> list[tuple[Observation, Commands]]:
    looks = list[tuple[Observation, Commands]]()
    watching = Watching(watcher=lambda seen, commands: looks.append((seen, commands)))
    Simulation(given_one, seed=seed, watching=watching).run()
    return looks


@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(scenarios(), st.integers(0, 1000))
def test_the_recorded_observations_lead_the_controller_to_the_same_commands(given_one: Scenario, seed: int) -> None:
    state = ControllerState()
    for seen, commands in recorded(given_one, seed):
        state, told = step(state, seen)
        assert told == commands


def look_always(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Simulation, "_next_look_at", lambda self, *_: self._world.next_look(self.now + 1.0))


def losing(**policy: object) -> Scenario:
    return scenario(
        experiment={"deadline": "25m", "policy": policy},
        cluster={"slots": 1, "nodes": 4},
        node_loss=[{"at": "5m", "node": 1, "back": "7m"}],
    )


@pytest.mark.parametrize("policy", ["deadline-2018", "deadline-paper", "fixed", "deadline-forecast"])
def test_a_look_that_is_skipped_would_have_changed_nothing(policy: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the user has chosen the period, looking every second leads to the very same run."""
    usual = losing(name=policy, period="15s")
    skipping = [simulate(usual, seed=seed, trace=True) for seed in range(3)]
    look_always(monkeypatch)
    assert [simulate(usual, seed=seed, trace=True) for seed in range(3)] == skipping


@pytest.mark.parametrize("policy", ["deadline-2018", "deadline-paper", "fixed"])
def test_a_period_that_follows_the_mean_may_begin_a_look_later(policy: str, monkeypatch: pytest.MonkeyPatch) -> None:
    usual = losing(name=policy)
    skipping = [simulate(usual, seed=seed) for seed in range(5)]
    look_always(monkeypatch)
    for seed, skipped in enumerate(skipping):
        always = simulate(usual, seed=seed)
        assert skipped.finished_seconds == pytest.approx(always.finished_seconds, rel=0.05)
        assert skipped.container_seconds == pytest.approx(always.container_seconds, rel=0.05)


def test_the_controller_looks_less_often_than_once_per_second_where_nothing_happens() -> None:
    looks = recorded(scenario(durations="10m", jobs=5, experiment={"deadline": "2h"}), seed=1)
    assert len(looks) < looks[-1][0].now / 5
