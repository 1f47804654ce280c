from dataclasses import replace

import pytest
from controller_looks import START, entry, look, record, service, told, watch

from jqueuer.controller import ControllerState, CreateService, Journal, ScaleService, phase_of, step
from jqueuer.records import Counts, Statistics
from jqueuer.states import ExperimentState, Phase

FOUR = "20 jobs × 1 task × 60 s (estimate) ÷ 300 s left = 4 containers; 4 containers are started"
SHORT = Statistics(tasks=10, task_seconds=200.0, tasks_defined=20)


def test_the_service_is_created_with_the_policys_number() -> None:
    state, (first,) = watch(look())
    assert first == [CreateService(4, FOUR), entry(0, "create", FOUR, 4)]
    assert state.decision is not None
    assert state.decision.clamped == 4


def test_it_is_created_once_even_if_it_is_slow_to_appear() -> None:
    _, (_, second) = watch(look(), look(0.5))
    assert second == []


def test_a_service_that_is_gone_is_created_again() -> None:
    _, (_, _, third) = watch(look(), look(0.5, service=service(4, busy=4)), look(100))
    reason = (
        "the service is not there any more; 20 jobs × 1 task × 60 s (estimate) ÷ 200 s left = 6 containers; "
        "6 containers are started"
    )
    assert third == [CreateService(6, reason), entry(100, "create", reason, 6)]


def test_it_scales_when_three_calculations_in_a_row_agree() -> None:
    """The measured mean of 20 s makes the period 5 s; only what differs from the entry before is journalled."""
    seen = {"counts": Counts(queued=6, running=4, accomplished=10), "statistics": SHORT, "service": service(4, busy=4)}
    _, all_told = watch(look(), *(look(after, **seen) for after in (50, 52, 55, 60, 60.5)))
    sums = "10 jobs × 1 task × 20 s (mean) ÷ {} s left = 1 container; "
    confirm = sums.format(250) + "1 of 3 calculations in a row agree to go from 4 to 1"
    act = sums.format(240) + "3 calculations in a row agree: from 4 to 1"
    assert all_told[1:] == [
        [entry(50, "confirm", confirm, 4)],
        [],
        [],
        [ScaleService(1, 4, act), entry(60, "scale-down", act, 1)],
        [],
    ]


def test_equal_holds_are_journalled_once() -> None:
    seen = {"counts": Counts(queued=16, running=4), "service": service(4, busy=4)}
    _, all_told = watch(look(), *(look(after, **seen) for after in range(15, 60, 15)))
    hold = "20 jobs × 1 task × 60 s (estimate) ÷ 285 s left = 5 containers; "
    assert all_told[1] == [entry(15, "confirm", hold + "1 of 3 calculations in a row agree to go from 4 to 5", 4)]
    assert [len(one) for one in all_told[2:]] == [0, 2]


def test_every_journalled_decision_carries_its_inputs() -> None:
    _, commands = step(ControllerState(), look(service=service(4, busy=3, starting=1)))
    (journalled,) = commands
    assert isinstance(journalled, Journal)
    assert journalled.entry.inputs == {
        "policy": "deadline-paper",
        "basis": "initial phase",
        "jobs_left": 20,
        "jobs_accomplished": 0,
        "task_seconds": 60.0,
        "tasks_per_job": 1,
        "seconds_left": 300.0,
        "margin_seconds": 0.0,
        "minimum": 1,
        "maximum": 10,
        "requested": 4,
        "starting": 1,
        "idle": 0,
        "busy": 3,
        "draining": 0,
        "coherence_index": 0,
        "needed": 4,
        "clamped": 4,
    }


def test_a_fresh_controller_takes_over_the_service_it_finds() -> None:
    """After a restart of the manager nothing is created or scaled, only calculated."""
    _, (first,) = watch(look(service=service(4, busy=4)))
    hold = "20 jobs × 1 task × 60 s (estimate) ÷ 300 s left = 4 containers; 4 requested already"
    assert first == [entry(0, "hold", hold, 4)]


def test_the_users_period_counts() -> None:
    seen = {
        "record": record(estimate=50, policy={"name": "deadline-paper", "period": 2}),
        "service": service(1, busy=1),
    }
    _, all_told = watch(*(look(after, **seen) for after in (0, 1, 2, 3, 4)))
    assert [bool(one) for one in all_told] == [True, False, False, False, True]
    assert isinstance(all_told[-1][0], ScaleService)


def test_nothing_is_judged_while_no_container_runs() -> None:
    _, (first,) = watch(look(service=service(2, starting=2)))
    wait = "20 jobs × 1 task × 60 s (estimate) ÷ 300 s left = 4 containers; no container runs yet"
    assert first == [entry(0, "wait", wait, 2)]


def test_past_the_deadline_it_goes_on_and_says_so() -> None:
    seen = look(310, service=service(4, busy=4))
    state, (first,) = watch(seen)
    late = "the deadline passed 10 s ago, so the maximum is used; 1 of 3 calculations in a row agree to go from 4 to 10"
    assert first == [entry(310, "confirm", late, 4)]
    assert state.decision is not None
    assert state.decision.clamped == 10


def test_amended_limits_and_deadline_count_from_the_next_calculation() -> None:
    first = look(service=service(4, busy=4))
    amended = record(containers={"min": 1, "max": 2})
    _, (_, before, due) = watch(
        first, look(10, record=amended, service=first.service), look(15, record=amended, service=first.service)
    )
    reason = (
        "20 jobs × 1 task × 60 s (estimate) ÷ 285 s left = 5 containers; limited to the maximum of 2; "
        "4 limited to the maximum of 2 at once"
    )
    assert before == []
    assert due == [ScaleService(2, 4, reason), entry(15, "scale-down", reason, 2)]


def test_pausing_requests_no_container_and_resuming_calculates_at_once() -> None:
    paused = record(ExperimentState.PAUSED)
    running = service(4, busy=4)
    state, all_told = watch(
        look(),
        look(10, service=running),
        look(11, record=paused, service=running),
        look(12, record=paused, service=service(0, draining=4)),
        look(13, service=service(0)),
    )
    why = "paused: running jobs are finished, no new ones are begun"
    resumed = "20 jobs × 1 task × 60 s (estimate) ÷ 287 s left = 5 containers; none is requested, so 5 at once"
    assert all_told[2:] == [
        [ScaleService(0, 4, why, by_autoscaler=False), entry(11, "pause", why, 0)],
        [],
        [ScaleService(5, 0, resumed), entry(13, "scale-up", resumed, 5)],
    ]
    assert state.decision is not None


def test_pausing_before_the_service_exists_creates_none() -> None:
    _, all_told = watch(look(record=record(ExperimentState.PAUSED)), look(5))
    assert all_told[0] == []
    assert isinstance(all_told[1][0], CreateService)


def test_what_keeps_containers_from_starting_is_journalled_once() -> None:
    stuck = service(4, starting=4, problem="no suitable node")
    less = service(4, starting=4, problem="1 of 4 containers: no suitable node")
    _, (first, second, third, fourth, *others) = watch(
        look(service=stuck),
        look(1, service=stuck),
        look(2, service=service(4, busy=4)),
        look(3, service=stuck),
        look(4, service=less),
        look(5, service=service(4, starting=4, problem="2 of 4 containers: no suitable node")),
        look(6, service=stuck),
    )
    assert first[0] == entry(0, "problem", "no suitable node")
    assert (second, third, fourth) == ([], [], [])
    assert others == [[entry(4, "problem", "1 of 4 containers: no suitable node")], [], []]


def test_a_step_whose_commands_failed_is_told_again() -> None:
    """The loop keeps the old state then; the same look leads to the same commands."""
    state, seen = ControllerState(), look()
    assert told(step(state, seen)[1]) == told(step(state, replace(seen, now=START))[1])


@pytest.mark.parametrize("state", [ExperimentState.RECEIVING])
def test_an_experiment_that_is_still_received_is_left_alone(state: ExperimentState) -> None:
    _, (first,) = watch(look(record=record(state)))
    assert first == []


def test_the_phase_follows_the_accomplished_jobs() -> None:
    assert phase_of(Counts(queued=3)) is Phase.INITIAL
    assert phase_of(Counts(queued=3, accomplished=1)) is Phase.MONITORED
