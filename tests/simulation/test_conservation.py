"""What holds in every simulation, whatever the scenario, the policy and the seed."""

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from jqueuer.controller import Commands, Observation
from jqueuer.simulation import Outcome, Scenario, Simulation, Watching, simulate
from jqueuer.states import ContainerState
from tests.simulation.building import scenario, scenarios

often = settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow])
SEEDS = st.integers(0, 1000)


@often
@given(scenarios(), SEEDS)
def test_every_job_has_one_outcome(given_one: Scenario, seed: int) -> None:
    outcome = simulate(given_one, seed=seed)
    assert outcome.accomplished + outcome.failed + outcome.cancelled == given_one.jobs
    assert outcome.attempts >= given_one.jobs
    if not given_one.failures:
        again = outcome.attempts - outcome.accomplished
        assert again == outcome.killed + outcome.lost


@often
@given(scenarios(), SEEDS)
def test_no_container_works_before_it_is_paid_for(given_one: Scenario, seed: int) -> None:
    outcome = simulate(given_one, seed=seed)
    assert outcome.container_seconds >= outcome.job_seconds * (1 - 1e-9)
    assert outcome.container_seconds <= outcome.peak_containers * (outcome.finished_seconds + 1e-6)
    most = given_one.experiment.containers.max
    room = given_one.cluster.nodes * (given_one.cluster.slots or most)
    assert 1 <= outcome.peak_containers <= room


@often
@given(scenarios(), SEEDS)
def test_the_same_seed_gives_the_same_outcome(given_one: Scenario, seed: int) -> None:
    first, second = (simulate(given_one, seed=seed, trace=True, decisions=True) for _ in range(2))
    assert first == second


@often
@given(scenarios(), SEEDS)
def test_draining_kills_no_job(given_one: Scenario, seed: int) -> None:
    assert simulate(given_one, seed=seed, scale_down="drain").killed == 0


@often
@given(scenarios(), SEEDS)
def test_at_every_look_the_numbers_add_up(given_one: Scenario, seed: int) -> None:
    """Jobs by state, containers by state, jobs measured, time paid: as the controller sees them."""
    moments, paid = [-1.0], [0.0]

    def check(seen: Observation, commands: Commands) -> None:
        counts, sums = seen.counts, seen.statistics
        assert counts.total == given_one.jobs
        assert counts.accomplished == seen.measured.durations.count == sums.tasks
        assert sum(entry.jobs for entry in seen.measured.concurrency) == counts.accomplished
        assert abs(seen.measured.durations.seconds - sums.job_seconds) < 1e-6
        containers = seen.service.containers if seen.service is not None else ()
        working = sum(container.busy_since is not None for container in containers)
        assert counts.running >= working
        assert seen.containers(ContainerState.BUSY) <= working
        assert all(0 <= container.started_at <= seen.now for container in containers)
        assert seen.queue_length + seen.delayed <= counts.queued
        assert seen.now >= moments[-1]
        assert sums.container_seconds >= paid[-1]
        moments.append(seen.now)
        paid.append(sums.container_seconds)

    Simulation(given_one, seed=seed, watching=Watching(watcher=check)).run()


def outcomes(given_one: Scenario, seed: int) -> list[Outcome]:
    return [simulate(given_one, policy=policy, seed=seed) for policy in ("deadline-2018", "deadline-paper", "fixed")]


def test_all_policies_meet_the_same_jobs() -> None:
    """Nothing slows jobs down and none is lost, so the work done is the same, whoever decided when."""
    for seed in range(3):
        first, *others = outcomes(scenario(failures=0.1), seed)
        for other in others:
            assert other.attempts == first.attempts
            assert abs(other.job_seconds - first.job_seconds) < 1e-6


def test_another_seed_is_another_run() -> None:
    assert len({simulate(scenario(), seed=seed).finished_seconds for seed in range(10)}) > 5
