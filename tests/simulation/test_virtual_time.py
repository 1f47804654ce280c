"""Runs whose course can be worked out by hand, and one golden run that pins everything else."""

from typing import Any

import pytest

from jqueuer.simulation import Scenario, simulate
from tests.simulation.building import scenario


def fixed(containers: int, **changes: Any) -> Scenario:
    limits = {"containers": {"min": 1, "max": containers}, "policy": "fixed"}
    return scenario(**{**changes, "experiment": {**limits, **changes.get("experiment", {})}})


def test_jobs_run_one_after_the_other_in_containers_that_first_have_to_start() -> None:
    """7 jobs of 10 s in 3 containers take three rounds; the start of 5 s is paid, the last round by one container."""
    outcome = simulate(fixed(3, jobs=7, durations="10s", look="5s"))
    assert outcome.finished_seconds == 5 + 30
    # jobs left: 3 at 25 s, so nobody goes; at 35 s the end is seen, and two have been idle since 25 s … 30 s
    assert outcome.job_seconds == 70
    assert outcome.container_seconds == 35 + 25 + 25
    assert (outcome.accomplished, outcome.attempts, outcome.job_events) == (7, 7, 14)


def test_the_end_is_seen_at_the_next_look() -> None:
    assert simulate(fixed(1, jobs=1, durations="10.2s", look="1s")).finished_seconds == 16.0
    assert simulate(fixed(1, jobs=1, durations="10.2s", look="4s")).finished_seconds == 16.0
    assert simulate(fixed(1, jobs=1, durations="10.2s", look="0.1s")).finished_seconds == pytest.approx(15.2)


def test_the_first_container_on_a_node_waits_for_the_image_and_others_for_the_same_pull() -> None:
    pulling = {"nodes": 2, "slots": 2, "image_pull": "100s", "start_delay": "5s"}
    assert simulate(fixed(4, jobs=4, durations="10s", cluster=pulling)).finished_seconds == 115
    later = {**pulling, "first_start": "300s"}
    assert simulate(fixed(4, jobs=4, durations="10s", cluster=later)).finished_seconds == 310


def test_contention_slows_all_jobs_down_while_it_lasts() -> None:
    """Two jobs of 60 s and 30 s at half speed: the short one ends after 60 s, the long one has 30 s left, alone."""
    both = fixed(2, jobs=2, durations={"list": ["60s", "30s"]}, contention={1: "1s", 2: "2s"})
    assert simulate(both).finished_seconds == 5 + 60 + 30


def test_contention_is_interpolated_between_the_counts_given() -> None:
    three = fixed(3, jobs=3, durations="60s", contention={1: 1.0, 5: 3.0})
    assert simulate(three).finished_seconds == 5 + 120


def test_a_container_rests_between_two_jobs() -> None:
    assert simulate(fixed(1, jobs=3, durations="10s", gap="2s")).finished_seconds == 5 + 34


def test_a_failed_job_runs_again_before_those_that_wait_for_their_first_attempt() -> None:
    """Under seed 4 some of the jobs fail; each takes its 10 s once more, after its back-off."""
    failing = fixed(1, jobs=10, durations="10s", failures=0.3, experiment={"on_failure": {"max_attempts": 50}})
    outcome = simulate(failing, seed=4)
    assert outcome.accomplished == 10
    assert outcome.attempts > 10
    assert outcome.finished_seconds == 5 + 10 * outcome.attempts


def test_a_job_fails_for_good_when_its_attempts_are_used_up() -> None:
    for how in ("cancel", {"action": "requeue", "max_attempts": 1}):
        outcome = simulate(fixed(2, jobs=50, durations="1s", failures=0.5, experiment={"on_failure": how}), seed=1)
        assert outcome.attempts == 50
        assert 10 < outcome.failed < 40
        assert outcome.accomplished == 50 - outcome.failed


def test_jobs_of_a_lost_node_run_again_after_their_lease_in_containers_started_elsewhere() -> None:
    """Node 1 goes 20 s into its first job; its container is replaced at once and takes the next job at 30 s."""
    losing = fixed(
        2,
        jobs=2,
        durations="60s",
        lease="30s",
        node_loss=[{"at": "25s", "node": 1}],
        cluster={"nodes": 3, "slots": 1},
    )
    outcome = simulate(losing)
    assert (outcome.lost, outcome.killed, outcome.accomplished, outcome.attempts) == (1, 0, 2, 3)
    assert outcome.finished_seconds == 25 + 30 + 60


def test_without_room_elsewhere_a_lost_node_is_awaited() -> None:
    losing = fixed(
        1,
        jobs=1,
        durations="60s",
        node_loss=[{"at": "25s", "node": 1, "back": "200s"}],
        cluster={"nodes": 1, "slots": 1},
    )
    outcome = simulate(losing)
    assert outcome.accomplished == 1
    assert outcome.finished_seconds == pytest.approx(200 + 5 + 60, abs=40)


def test_a_busy_container_that_is_given_up_finishes_its_job_or_is_killed() -> None:
    """The maximum falls from 4 to 1 in the middle of four jobs."""
    shrinking = fixed(4, jobs=4, durations="60s", changes=[{"at": "35s", "maximum": 1}])
    drained = simulate(shrinking)
    assert (drained.killed, drained.attempts, drained.finished_seconds) == (0, 4, 65)
    killed = simulate(shrinking, scale_down="kill")
    assert (killed.killed, killed.attempts, killed.accomplished) == (3, 7, 4)
    assert killed.finished_seconds == 5 + 4 * 60
    assert 4 * 60 + 3 * 30 <= killed.job_seconds < 4 * 60 + 3 * 60


def test_a_change_of_the_deadline_counts() -> None:
    paced = scenario(experiment={"deadline": "2h"}, durations="60s")
    hurried = scenario(experiment={"deadline": "2h"}, durations="60s", changes=[{"at": "10m", "deadline": "25m"}])
    assert simulate(paced).finished_seconds > 3600
    outcome = simulate(hurried)
    assert outcome.deadline_seconds == 1500
    assert outcome.finished_seconds < 1600


def test_the_golden_run() -> None:
    """Every number of one run with all that can happen; they change only where the model or a policy is meant to."""
    outcome = simulate(
        scenario(
            contention={1: 1.0, 5: 1.3},
            failures=0.05,
            gap="1s",
            node_loss=[{"at": "8m", "node": 2, "back": "12m"}],
            experiment={"deadline": "20m"},
            cluster={"nodes": 3, "image_pull": {"normal": {"mean": "30s", "deviation": "5s"}}},
        ),
        policy="deadline-2018",
        seed=7,
        scale_down="kill",
        trace=True,
    )
    assert [(round(moment, 3), requested, up) for moment, requested, up in outcome.trace] == GOLDEN_TRACE
    assert outcome.finished_seconds == 1225
    assert round(outcome.container_seconds, 6) == 5885.0
    assert round(outcome.job_seconds, 6) == 5263.139507
    assert (outcome.attempts, outcome.accomplished, outcome.killed, outcome.lost) == (68, 60, 0, 2)
    assert (outcome.peak_containers, outcome.scale_ups, outcome.scale_downs) == (5, 0, 0)


GOLDEN_TRACE = [
    (0.0, 5, 0),
    (30.034, 5, 2),
    (37.618, 5, 4),
    (39.316, 5, 5),
    (480.0, 5, 3),
    (481.0, 4, 3),
    (485.0, 4, 4),
    (720.0, 5, 4),
    (725.0, 5, 5),
    (1225.0, 0, 0),
]
