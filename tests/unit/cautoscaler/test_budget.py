"""``budget``: the most containers that the rest of the budget pays for, and what happens when it does not."""

from heapq import heapify, heapreplace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from situations import situation, situations

from cautoscaler import (
    AutoscalerState,
    Basis,
    ContainerCounts,
    Durations,
    Measured,
    OnConflict,
    Parameters,
    Situation,
    get,
    initial,
    step,
)
from cautoscaler.calculator import MOST
from cautoscaler.policies.budget import affordable, job_seconds, work_left_seconds

HOUR = 3600.0


def paid(hours: float, **changes: Any) -> Situation:
    """30 jobs of two minutes, an hour of work, and a budget of so many container-hours."""
    conflict = changes.pop("on_conflict", OnConflict.LATE)
    parameters = Parameters(budget_container_seconds=hours * HOUR, on_conflict=conflict)
    return situation(**{"jobs_left": 30, "parameters": parameters, **changes})


def needed(seen: Situation) -> int:
    return get("budget").suggest(seen).needed


def test_what_is_to_spare_pays_for_idling_at_the_end() -> None:
    """Half a job, a minute, for every container but one."""
    assert [needed(paid(1 + minutes / 60)) for minutes in (0, 1, 1.5, 4, 9)] == [1, 2, 2, 5, 10]


def test_what_is_to_spare_pays_for_starting_containers() -> None:
    started = Measured(start_seconds=60.0)
    assert needed(paid(1 + 9 / 60, measured=started)) == 5  # each costs a minute to start and one of idling
    four = ContainerCounts(busy=4)
    assert needed(paid(1 + 9 / 60, measured=started, containers=four)) == 7


def test_containers_that_start_are_paid_for_in_any_case() -> None:
    starting = {"measured": Measured(start_seconds=60.0), "containers": ContainerCounts(starting=5)}
    assert needed(paid(1 + 9 / 60, starting_seconds=(0.0,) * 5, **starting)) == 5
    assert needed(paid(1 + 4 / 60, starting_seconds=(60.0,) * 5, **starting)) == 5


def test_what_was_paid_counts_and_so_does_what_running_jobs_have_done() -> None:
    assert needed(paid(1 + 4 / 60, container_seconds=180.0)) == 2
    assert needed(paid(1 + 4 / 60, container_seconds=180.0, running_seconds=(60.0, 120.0, 999.0))) == 7


def test_a_jobs_price_is_what_one_has_cost_so_far_failures_included() -> None:
    measured = Measured(Durations.of([50.0, 70.0]), unsuccessful=1, unsuccessful_seconds=60.0)
    assert job_seconds(situation(measured=measured)) == pytest.approx(90.0)
    assert job_seconds(situation(tasks_per_job=3)) == 360.0


@pytest.mark.parametrize(
    ("conflict", "spent", "number", "said"),
    [
        (
            OnConflict.LATE,
            1.5,
            4,
            "too little for 1 container-hours of work in 30 jobs: no further container is started",
        ),
        (OnConflict.PARTIAL, 1.5, 4, "no further container is started"),
        (OnConflict.LATE, 2.0, 1, "the budget is spent, with 1 container-hours of work in 30 jobs left: one container"),
        (
            OnConflict.BUDGET,
            2.5,
            1,
            "the budget is spent, with 1 container-hours of work in 30 jobs left: one container",
        ),
        (
            OnConflict.PARTIAL,
            2.5,
            0,
            "the budget is spent, with 1 container-hours of work in 30 jobs left: those are not",
        ),
    ],
)
def test_where_the_budget_does_not_pay_for_all_jobs_the_rule_of_conflict_decides(
    conflict: OnConflict, spent: float, number: int, said: str
) -> None:
    four = ContainerCounts(starting=1, idle=1, busy=2, draining=1)
    seen = paid(2, container_seconds=spent * HOUR, on_conflict=conflict, containers=four, deadline_at=None)
    suggestion = get("budget").suggest(seen)
    assert (suggestion.needed, suggestion.basis) == (number, Basis.BUDGET)
    assert said in suggestion.reason


def test_a_deadline_overdraws_the_budget_only_where_that_was_declared() -> None:
    late, over = (paid(1, deadline_at=600.0, on_conflict=rule) for rule in (OnConflict.LATE, OnConflict.BUDGET))
    assert (needed(late), needed(over)) == (1, 6)
    assert "; the deadline may overdraw it: 30 jobs × 1 task × 120 s" in get("budget").suggest(over).reason
    assert needed(paid(2, deadline_at=6000.0, on_conflict=OnConflict.BUDGET)) > 10  # the budget allows more anyway


def test_the_minimum_is_the_users_word_even_where_the_budget_is_spent() -> None:
    seen = paid(1, container_seconds=HOUR, on_conflict=OnConflict.PARTIAL)
    assert initial("budget", seen).target == 1
    assert initial("budget", paid(1, container_seconds=HOUR, on_conflict=OnConflict.PARTIAL, minimum=0)).target == 0


def test_without_a_budget_nothing_has_to_be_saved() -> None:
    assert needed(situation()) == 10


@given(situations(), st.floats(0, 1e9))
def test_the_number_is_the_greatest_whose_cost_is_to_spare(seen: Situation, spare: float) -> None:
    start, idle = seen.measured.start_seconds or 0.0, job_seconds(seen) / 2
    there = seen.containers.idle + seen.containers.busy + len(seen.starting_seconds)
    pending = sum(max(0.0, start - age) for age in seen.starting_seconds)

    def cost(number: int) -> float:
        return pending + (number - 1) * idle + max(0, number - there) * start

    number = affordable(seen, spare)
    assert 0 <= number <= MOST
    slack = 1e-9 * (1 + spare + abs(cost(number)) + number * (idle + start))
    assert number == 0 or cost(number) <= spare + slack
    assert number == MOST or cost(number + 1) >= spare - slack


@given(situations(), st.floats(0, 1e9), st.floats(0, 1e9))
def test_a_larger_budget_never_affords_fewer(seen: Situation, one: float, other: float) -> None:
    poor, rich = sorted((one, other))
    assert affordable(seen, poor) <= affordable(seen, rich)
    assert work_left_seconds(seen) >= 0


@pytest.mark.parametrize("job", [20.0, 60.0, 119.0])
@pytest.mark.parametrize("hours", [1.1, 1.5, 3.0])
@pytest.mark.parametrize("start", [0.0, 30.0])
def test_a_whole_experiment_stays_within_its_budget_wherever_it_pays_for_the_jobs(
    hours: float, start: float, job: float
) -> None:
    """Jobs are no longer than estimated; the experiment is told its start delay."""
    spent, _ = _run(hours, start, job)
    assert spent <= hours * HOUR


def test_a_larger_budget_ends_earlier() -> None:
    ends = [_run(hours, 30.0, 119.0)[1] for hours in (1.05, 1.2, 2.0)]
    assert ends == sorted(ends, reverse=True)
    assert ends[0] > 2 * ends[-1]


def _run(hours: float, start: float, job: float) -> tuple[float, float]:
    """30 jobs estimated at 120 s in virtual time: what the containers cost, and when the last ended.

    The policy is asked whenever a container takes a job; one too many then ends instead, and whoever finds no job ends.
    """
    asked = [0.0] * initial("budget", paid(hours, measured=Measured(start_seconds=start))).target
    state, left, spent, end = AutoscalerState("budget"), 30, 0.0, 0.0
    free = [(start, begun) for begun in asked]
    heapify(free)
    done: list[float] = []
    while left:
        now, begun = free[0]
        running = [until for until, _ in free if until > now]
        seen = paid(
            hours,
            now=now,
            requested=len(free),
            jobs_left=left + len(running),
            jobs_accomplished=len(done),
            measured=Measured(Durations.of(done), start_seconds=start),
            containers=ContainerCounts(idle=len(free) - len(running), busy=len(running)),
            running_seconds=tuple(max(0.0, job - (until - now)) for until in running),
            container_seconds=spent + sum(now - since for _, since in free),
        )
        state, decision = step(state, seen)
        if decision.target < len(free):
            free.remove((now, begun))
            spent += now - begun
        else:
            heapreplace(free, (now + job, begun))
            left, end = left - 1, now + job
            done.append(job)
        free += [(now + start, now)] * (decision.target - len(free))
        heapify(free)
    last = max(until for until, _ in free)
    return spent + sum(last - begun for _, begun in free), end
