"""The forecast of the finish: its laws, and that it agrees with the experiments it forecasts."""

import itertools
import math
import random
from collections.abc import Callable
from dataclasses import replace
from heapq import heapreplace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from situations import situation

from cautoscaler import Bucket, Concurrency, ContainerCounts, Durations, Measured, Parameters, Situation, get
from cautoscaler.forecasting import MANY_PATHS, FinishModel, choose, fewest
from cautoscaler.forecasting.contention import fit

MINUTE = 60.0


def seen(durations: list[float], *, jobs_left: int, maximum: int = 10, **changes: Any) -> Situation:
    """Idle containers, so many jobs to come, and these durations measured."""
    measured = Measured(durations=Durations.of(durations), start_seconds=changes.pop("start_seconds", 0.0))
    return situation(
        jobs_left=jobs_left,
        jobs_accomplished=len(durations),
        maximum=maximum,
        measured=measured,
        requested=maximum,
        containers=ContainerCounts(idle=maximum),
        **changes,
    )


def makespan(durations: list[float], containers: int) -> float:
    free, end = [0.0] * containers, 0.0
    for duration in durations:
        end = max(end, free[0] + duration)
        heapreplace(free, free[0] + duration)
    return end


Drawn = Callable[[random.Random], float]
SHAPES: dict[str, Drawn] = {
    "log-normal": lambda source: source.lognormvariate(math.log(MINUTE) - 0.125, 0.5),
    "wide log-normal": lambda source: source.lognormvariate(math.log(MINUTE) - 0.5, 1.0),
    "bimodal": lambda source: 600.0 if source.random() < 0.1 else 30.0,
}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize(("jobs", "containers"), [(30, 10), (45, 5), (450, 10), (2000, 40)])
def test_the_quantiles_are_those_of_the_experiments_themselves(shape: str, jobs: int, containers: int) -> None:
    source = random.Random(f"{shape} {jobs}")
    drawn = SHAPES[shape]
    measured = [drawn(source) for _ in range(20_000)]
    ends = [makespan(source.choices(measured, k=jobs), containers) for _ in range(400)]
    known = seen(measured, jobs_left=jobs, maximum=containers)
    forecast = FinishModel(known, MANY_PATHS).finish(containers)
    for probability in (0.5, 0.8, 0.95):
        within = sum(end <= forecast.quantile(probability) for end in ends) / len(ends)
        assert within == pytest.approx(probability, abs=0.13)


def test_equal_jobs_end_in_rounds() -> None:
    """41 jobs of a minute in 10 containers: four rounds and one more, in however large batches they are drawn."""
    for jobs, rounds in ((41, 5), (40, 4), (1000, 100), (1001, 101)):
        forecast = FinishModel(seen([MINUTE] * 2000, jobs_left=jobs)).finish(10)
        assert forecast.quantile(0.5) == pytest.approx(rounds * MINUTE, rel=0.002)


def test_before_anything_is_measured_the_estimate_is_doubted() -> None:
    forecast = FinishModel(situation(estimate_seconds=MINUTE, jobs_left=100)).finish(10)
    assert forecast.quantile(0.05) < 600 < forecast.quantile(0.95)
    assert forecast.quantile(0.95) / forecast.quantile(0.05) > 4


def test_the_estimate_fades_as_jobs_finish() -> None:
    def expected(jobs: int) -> float:
        known = seen([MINUTE * (0.8 + 0.4 * index / jobs) for index in range(jobs)], jobs_left=100)
        return FinishModel(replace(known, estimate_seconds=4 * MINUTE)).times.mean_seconds

    assert expected(1) > expected(5) > expected(50)
    assert expected(5) == pytest.approx(MINUTE, rel=0.3)
    assert expected(50) == pytest.approx(MINUTE, rel=0.05)


def test_earlier_experiments_of_the_kind_are_believed_more_than_the_estimate() -> None:
    new = situation(estimate_seconds=MINUTE, history=Durations.of([200.0, 220.0, 180.0] * 50))
    assert FinishModel(new).times.mean_seconds == pytest.approx(200.0, rel=0.05)
    assert FinishModel(new).times.spread < FinishModel(replace(new, history=Durations())).times.spread


def test_jobs_that_still_run_count_as_longer_than_their_age() -> None:
    """Who learned from the first to finish alone would take the short jobs for all."""
    ended = seen([10.0, 12.0], jobs_left=50)
    running = replace(ended, running_seconds=(12.0,) * 8, containers=ContainerCounts(busy=10))
    assert FinishModel(running).times.mean_seconds > 1.3 * FinishModel(ended).times.mean_seconds


def test_jobs_that_run_far_longer_than_estimated_are_noticed_before_one_ends() -> None:
    started = situation(estimate_seconds=MINUTE, running_seconds=(240.0,) * 5, containers=ContainerCounts(busy=5))
    assert FinishModel(started).times.mean_seconds > 200.0


def test_the_age_of_a_running_job_is_taken_off() -> None:
    def end(age: float) -> float:
        last = seen([MINUTE] * 200, jobs_left=1, running_seconds=(age,))
        return FinishModel(replace(last, containers=ContainerCounts(busy=1))).finish(1).quantile(0.5)

    assert end(0.0) == pytest.approx(60.0, abs=2)
    assert end(45.0) == pytest.approx(15.0, abs=2)


def test_a_start_delay_is_waited_for() -> None:
    warm = seen([MINUTE] * 100, jobs_left=100, start_seconds=300.0)
    cold = replace(warm, containers=ContainerCounts())
    assert FinishModel(cold).finish(10).quantile(0.5) == pytest.approx(
        FinishModel(warm).finish(10).quantile(0.5) + 300.0, rel=0.01
    )


def test_attempts_that_fail_are_run_again() -> None:
    sure = seen([MINUTE] * 400, jobs_left=400)
    frail = replace(sure, measured=replace(sure.measured, unsuccessful=100))
    ratio = FinishModel(frail).finish(10).quantile(0.5) / FinishModel(sure).finish(10).quantile(0.5)
    assert ratio == pytest.approx(1.25, rel=0.05)


def test_attempts_that_are_not_repeated_cost_nothing_more() -> None:
    sure = seen([MINUTE] * 400, jobs_left=400)
    cancelled = replace(sure, measured=replace(sure.measured, unsuccessful=100), most_attempts=1)
    assert FinishModel(cancelled).finish(10).ends == FinishModel(sure).finish(10).ends


def test_attempts_that_fail_at_once_cost_next_to_nothing() -> None:
    sure = seen([MINUTE] * 400, jobs_left=400)
    quick = replace(sure, measured=replace(sure.measured, unsuccessful=400, unsuccessful_seconds=40.0))
    ratio = FinishModel(quick).finish(10).quantile(0.5) / FinishModel(sure).finish(10).quantile(0.5)
    assert ratio < 1.02


@pytest.mark.parametrize("maximum", [257, 384, 385, 600, 2000])
def test_a_large_cluster_is_forecast_like_a_small_one(maximum: int) -> None:
    """From 256 containers on the model is a smaller one of the same proportions, running jobs and all."""
    hours = [3600.0 + index for index in range(100)]
    busy = seen(hours, jobs_left=418, maximum=maximum, deadline_at=None, running_seconds=(200.0,) * 380)
    busy = replace(busy, requested=380, containers=ContainerCounts(busy=380))
    exact = FinishModel(replace(busy, maximum=380)).finish(380).quantile(0.5)
    assert FinishModel(busy).finish(380).quantile(0.5) == pytest.approx(exact, rel=0.02)


def test_draining_containers_finish_their_jobs_and_take_no_others() -> None:
    working = seen([MINUTE] * 100, jobs_left=20, running_seconds=(0.0,) * 10)
    working = replace(working, containers=ContainerCounts(busy=10))
    draining = replace(working, draining_running=5, containers=ContainerCounts(busy=5, draining=5))
    assert FinishModel(working).finish(10).quantile(0.5) == pytest.approx(120.0, rel=0.05)
    assert FinishModel(draining).finish(5).quantile(0.5) == pytest.approx(180.0, rel=0.05)


# ---- laws ----

spreads = st.lists(st.floats(0.01, 1e5), min_size=0, max_size=40)


@st.composite
def forecastable(draw: st.DrawFn) -> Situation:
    maximum = draw(st.integers(1, 40))
    idle, busy, draining = (draw(st.integers(0, maximum)) for _ in range(3))
    ages = draw(st.lists(st.floats(0, 1e5), min_size=busy + draining, max_size=busy + draining))
    durations = Durations.of(draw(spreads))
    return situation(
        deadline_at=draw(st.none() | st.floats(-100.0, 1e6)),
        maximum=maximum,
        jobs_left=busy + draining + draw(st.integers(0, 3000)),
        jobs_accomplished=durations.count,
        estimate_seconds=draw(st.floats(0.01, 1e5)),
        requested=draw(st.integers(0, maximum)),
        containers=ContainerCounts(idle=idle, busy=busy, draining=draining),
        running_seconds=tuple(ages),
        draining_running=draining,
        starting_seconds=tuple(draw(st.lists(st.floats(0, 1e4), max_size=5))),
        measured=Measured(
            durations=durations,
            unsuccessful=draw(st.integers(0, 50)),
            start_seconds=draw(st.none() | st.floats(0, 1e4)),
        ),
    )


@given(forecastable())
@settings(max_examples=60, deadline=None)
def test_more_containers_never_forecast_a_later_finish(known: Situation) -> None:
    model = FinishModel(known, 16)
    ends = [model.finish(containers).ends for containers in range(1, known.maximum + 1)]
    for fewer, more in itertools.pairwise(ends):
        assert all(after <= before * (1 + 1e-9) for before, after in zip(fewer, more, strict=True))


@given(forecastable(), st.floats(1.0, 1e6), st.floats(1.0, 10.0))
@settings(max_examples=60, deadline=None)
def test_a_looser_deadline_never_needs_more(known: Situation, seconds: float, looser: float) -> None:
    model = FinishModel(known, 16)
    tight = fewest(model, known.maximum, seconds, 0.95)
    loose = fewest(model, known.maximum, seconds * looser, 0.95)
    if tight is not None:
        assert loose is not None
        assert loose <= tight


@st.composite
def contended(draw: st.DrawFn) -> Situation:
    known = draw(forecastable())
    levels = sorted(draw(st.sets(st.integers(1, 40), min_size=2, max_size=6)))
    exponent = draw(st.floats(0.1, 1.4))
    rows = tuple(Concurrency(busy, 50, 50 * 10.0 * busy**exponent) for busy in levels)
    return replace(known, measured=replace(known.measured, concurrency=rows))


@given(contended(), st.floats(1.0, 1e6))
@settings(max_examples=60, deadline=None)
def test_with_contention_no_count_is_picked_that_a_smaller_one_beats(known: Situation, seconds: float) -> None:
    """One beats it that keeps the deadline as surely as is wanted; or, where none does, that ends as early."""
    model = FinishModel(known, 16)
    choice = choose(model, most=known.maximum, seconds=seconds, confidence=0.95)
    for smaller in range(1, choice.containers):
        finish = model.finish(smaller)
        if choice.kept:
            assert finish.probability(seconds) < 0.95
        else:
            assert finish.ends != choice.finish.ends or finish.container_seconds >= choice.finish.container_seconds
            assert not (
                finish.quantile(0.5) < choice.finish.quantile(0.5)
                and finish.probability(seconds) >= choice.finish.probability(seconds)
            )


@given(forecastable())
@settings(max_examples=100, deadline=None)
def test_every_situation_has_a_finite_forecast_and_a_number_within_its_limits(known: Situation) -> None:
    """At the deadline and past it, too."""
    for moment in (known.now, known.deadline_at or known.now, (known.deadline_at or known.now) + 1e4):
        then = replace(known, now=moment)
        suggestion = get("deadline-forecast").suggest(then)
        assert 0 <= suggestion.needed <= max(1, min(then.maximum, then.jobs_left))
        numbers = [value for value in suggestion.inputs.values() if isinstance(value, float)]
        assert all(math.isfinite(number) for number in numbers)


@given(forecastable())
@settings(max_examples=30, deadline=None)
def test_the_same_situation_is_forecast_the_same(known: Situation) -> None:
    assert FinishModel(known).finish(1) == FinishModel(known).finish(1)


def test_contention_is_seen_in_the_means_and_not_in_the_noise() -> None:
    flat = [Concurrency(2, 100, 5000.0), Concurrency(10, 100, 5000.0)]
    steep = [Concurrency(2, 100, 2000.0), Concurrency(10, 100, 10_000.0)]
    few = [Concurrency(9, 1, 50.0), Concurrency(10, 1, 70.0)]
    assert fit(flat, variation=0.5).factor(10) == 1.0
    assert fit(steep, variation=0.5).factor(10) / fit(steep, variation=0.5).factor(2) == pytest.approx(5.0, rel=0.1)
    assert fit(few, variation=0.5).exponent < 0.05


# ---- what the policy makes of it ----


def decided(known: Situation) -> int:
    return get("deadline-forecast").suggest(known).needed


def test_a_tight_deadline_asks_for_more_than_the_mean_says() -> None:
    """1,000 jobs of a minute in 100 minutes: ten containers would be done in just that, one time out of two."""
    source = random.Random(1)
    durations = [source.lognormvariate(math.log(MINUTE) - 0.5, 1.0) for _ in range(2000)]
    known = seen(durations, jobs_left=1000, maximum=20, deadline_at=6000.0)
    assert 11 <= decided(replace(known, requested=0)) <= 17


def test_containers_are_kept_while_giving_them_up_would_be_a_risk() -> None:
    source = random.Random(2)
    durations = [source.lognormvariate(math.log(MINUTE) - 0.125, 0.5) for _ in range(500)]
    known = seen(durations, jobs_left=500, maximum=20, deadline_at=3000.0)
    enough = decided(replace(known, requested=0))
    one_more = decided(replace(known, requested=enough + 1, containers=ContainerCounts(idle=enough + 1)))
    assert one_more in (enough, enough + 1)
    assert decided(replace(known, requested=20)) <= enough + 2


def test_as_jobs_run_out_fewer_are_wanted() -> None:
    last = seen([MINUTE] * 500, jobs_left=10, maximum=10, running_seconds=(30.0,) * 10, deadline_at=4000.0)
    assert decided(replace(last, containers=ContainerCounts(busy=10))) == 1


def test_it_says_at_once_that_a_deadline_cannot_be_met_and_which_can() -> None:
    late = seen([MINUTE] * 300, jobs_left=1000, maximum=10, deadline_at=3000.0)
    suggestion = get("deadline-forecast").suggest(late)
    assert suggestion.needed == 10
    assert "cannot be had: the earliest deadline" in suggestion.reason
    assert suggestion.inputs["earliest_seconds"] == pytest.approx(6000.0, rel=0.02)


def test_past_the_deadline_no_container_is_asked_for_that_would_not_help() -> None:
    late = seen([MINUTE] * 300, jobs_left=3, maximum=10, deadline_at=0.0, start_seconds=300.0)
    held = replace(late, requested=2, containers=ContainerCounts(idle=2))
    assert decided(held) == 2


def test_a_budget_that_cannot_be_kept_gives_way_only_where_the_user_says_so() -> None:
    known = seen([MINUTE] * 300, jobs_left=600, maximum=10, deadline_at=4000.0, start_seconds=600.0)
    known = replace(known, containers=ContainerCounts(), requested=0)
    hours = 600 * MINUTE + 6 * 600.0

    def with_budget(rule: str) -> int:
        from cautoscaler import OnConflict

        parameters = Parameters(budget_container_seconds=hours, on_conflict=OnConflict(rule))
        return decided(replace(known, parameters=parameters))

    free = decided(known)
    assert with_budget("budget") == free
    assert with_budget("late") < free


def test_a_bucket_knows_its_mean() -> None:
    assert Bucket(4, 10.0).mean_seconds == 2.5
