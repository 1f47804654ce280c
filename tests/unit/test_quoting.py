"""Quotes: their laws, and what they say."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cautoscaler import Durations
from jqueuer.descriptor import read_description
from jqueuer.errors import DescriptionError
from jqueuer.model import Experiment
from jqueuer.quoting import Quote, Workload, quote, read_lines, rounded_up, workload_of

NOW = 1_700_000_000.0
MINUTE_JOBS = Durations.of([60.0] * 400)


def described(**changes: Any) -> Experiment:
    """An estimate of a minute a job, 1..10 containers, an hour, under the forecasting policy."""
    policy = {"name": "deadline-forecast", **changes.pop("policy", {})}
    values = {"estimate": 60, "containers": {"min": 1, "max": 10}, "deadline": 3600, "policy": policy, **changes}
    return Experiment.model_validate(values)


def quoted(jobs: int = 100, *, history: Durations = MINUTE_JOBS, start_seconds: float = 2.0, **changes: Any) -> Quote:
    return quote(described(**changes), Workload(jobs), now=NOW, history=history, start_seconds=start_seconds)


@st.composite
def asked(draw: st.DrawFn) -> dict[str, Any]:
    """What a quote is worked out from, but the deadline."""
    minimum = draw(st.integers(0, 20))
    durations = draw(st.lists(st.floats(0.01, 5000), max_size=30))
    return {
        "jobs": draw(st.integers(1, 2000)),
        "history": Durations.of(durations),
        "start_seconds": draw(st.none() | st.floats(0, 300)),
        "estimate": draw(st.floats(0.01, 1000)),
        "containers": {"min": minimum, "max": draw(st.integers(max(1, minimum), 60))},
        "policy": {
            "name": draw(st.sampled_from(["deadline-forecast", "deadline-paper", "fixed", "queue-length"])),
            "confidence": draw(st.sampled_from([0.5, 0.8, 0.95, 0.999])),
            "margin": draw(st.sampled_from([0, 10])),
        },
    }


@settings(max_examples=12, deadline=None)
@given(asked(), st.none() | st.floats(1, 1e6))
def test_more_containers_never_end_later_and_all_numbers_are_finite(given_: dict[str, Any], deadline: float) -> None:
    curve = quoted(**given_, deadline=deadline).curve
    for key in ("p50_seconds", "p80_seconds", "p95_seconds"):
        ends = [getattr(offer, key) for offer in curve]
        assert all(0 <= end < 1e12 for end in ends)
        assert ends == sorted(ends, reverse=True)
    assert [offer.containers for offer in curve] == sorted({offer.containers for offer in curve})


@settings(max_examples=12, deadline=None)
@given(asked(), st.floats(1, 1e6))
def test_the_earliest_feasible_deadline_is_feasible_and_an_earlier_one_is_not(
    given_: dict[str, Any], deadline: float
) -> None:
    """As people write it: in whole seconds, or tenths below ten."""
    first = quoted(**given_, deadline=deadline)
    earliest = first.earliest_deadline_seconds
    assert earliest is not None
    assert first.feasible is (deadline >= earliest) or abs(deadline - earliest) <= 1
    again = quoted(**given_, deadline=earliest)
    assert again.feasible
    assert again.earliest_deadline_seconds == earliest
    before = earliest - (1.01 if earliest > 10 else 0.101)
    if before > 0:
        assert not quoted(**given_, deadline=before).feasible


@settings(max_examples=8, deadline=None)
@given(asked(), st.floats(1, 1e5), st.floats(1, 3))
def test_a_looser_deadline_never_needs_more_containers(given_: dict[str, Any], deadline: float, factor: float) -> None:
    tight, loose = (quoted(**given_, deadline=seconds) for seconds in (deadline, deadline * factor))
    if tight.containers is not None:
        assert loose.containers is not None
        assert loose.containers <= tight.containers


@settings(max_examples=8, deadline=None)
@given(asked(), st.floats(10, 1e5), st.floats(0.001, 100))
def test_the_counter_offer_keeps_the_budget_too(given_: dict[str, Any], deadline: float, hours: float) -> None:
    policy = {"name": "budget", "budget": {"container_hours": hours}, "confidence": 0.95}
    first = quoted(**{**given_, "policy": policy}, deadline=deadline)
    if first.earliest_deadline_seconds is None:
        assert not first.feasible
        return
    again = quoted(**{**given_, "policy": policy}, deadline=first.earliest_deadline_seconds)
    assert again.feasible
    kept = next(offer for offer in again.curve if offer.containers == again.containers)
    assert kept.container_hours <= hours + 1e-5


def test_known_durations_are_promised_with_little_reserve() -> None:
    """100 jobs of a minute: ten containers need ten rounds of them; another experiment's may be a little longer."""
    found = quoted(deadline=1200)
    assert found.feasible
    assert found.earliest_deadline_seconds is not None
    assert 602 < found.earliest_deadline_seconds < 900
    assert found.containers is not None
    assert 5 < found.containers < 9
    assert found.policy_containers is not None
    assert {found.containers, found.policy_containers} <= {offer.containers for offer in found.curve}
    assert found.curve[-1].p50_seconds == pytest.approx(602, rel=0.05)
    assert found.curve[-1].container_hours == pytest.approx(100 / 60, rel=0.05)
    assert found.basis == "by 400 jobs of earlier experiments of its kind; containers start within 2 s, as measured"


def test_an_estimate_alone_is_not_trusted_as_far() -> None:
    known, estimated = quoted(), quoted(history=Durations())
    assert known.earliest_deadline_seconds is not None
    assert estimated.earliest_deadline_seconds is not None
    assert estimated.earliest_deadline_seconds > 1.5 * known.earliest_deadline_seconds
    assert estimated.basis.startswith("by the estimate of 60 s a task: no job has been measured")


def test_what_is_infeasible_says_so_with_the_counter_offer() -> None:
    found = quoted(deadline=300)
    assert not found.feasible
    assert found.containers is None
    assert found.reason == (
        "100 jobs on 10 containers, the most allowed: done within 5m with 0 % only, where 95 % is wanted; the earliest "
        f"deadline that can be kept so surely is {int(found.earliest_deadline_seconds or 0) // 60}m"
        f"{int(found.earliest_deadline_seconds or 0) % 60}s"
    )


def test_a_margin_is_taken_off_the_deadline_and_put_on_the_offer() -> None:
    without, with_it = quoted(), quoted(policy={"margin": 100})
    assert with_it.earliest_deadline_seconds == (without.earliest_deadline_seconds or 0.0) + 100
    assert "within 1h less the margin of 1m40s" in with_it.reason


def test_without_a_deadline_there_is_nothing_to_keep_but_an_offer_all_the_same() -> None:
    found = quoted(deadline=None)
    assert found.feasible
    assert (found.containers, found.deadline_seconds, found.curve[0].probability) == (None, None, None)
    assert found.reason.startswith("there is no deadline to keep; 100 jobs on 10 containers: done within ")
    assert found.earliest_deadline_seconds is not None


def test_a_deadline_that_has_passed_is_infeasible() -> None:
    found = quoted(deadline="2020-01-01T00:00:00Z")
    assert not found.feasible
    assert found.reason.startswith("the deadline has passed; the earliest deadline")


def test_prices_make_costs_and_a_budget_that_does_not_pay_is_named() -> None:
    policy = {"name": "budget", "budget": {"money": 1.0}, "price": 2.0}
    found = quoted(policy=policy)
    assert not found.feasible
    assert found.budget_container_hours == 0.5
    assert found.earliest_deadline_seconds is None
    assert "container-hours, where 0.5 are budgeted" in found.reason
    assert all(offer.cost == pytest.approx(2 * offer.container_hours, abs=1e-5) for offer in found.curve)
    assert quoted(policy={**policy, "on_conflict": "budget"}).feasible, "the deadline goes before the budget there"


def test_a_fixed_number_is_the_only_one_that_counts() -> None:
    found = quoted(policy={"name": "fixed", "containers": 3}, deadline=1200)
    assert [offer.containers for offer in found.curve] == [3]
    assert not found.feasible
    assert quoted(policy={"name": "fixed", "containers": 9}, deadline=1200).feasible


def test_no_more_containers_are_counted_on_than_there_are_jobs_and_nobody_knows_what_a_service_will_say() -> None:
    found = quoted(2, policy={"name": "rest", "url": "http://127.0.0.1:9/"})
    assert [offer.containers for offer in found.curve] == [1, 2]
    assert (found.policy, found.policy_containers) == ("rest", None)


def test_thousands_of_containers_are_quoted_in_few_steps() -> None:
    """Beyond 256 the forecast is of a smaller model: still nobody ends later with more."""
    found = quoted(50_000, containers={"min": 1, "max": 5000}, deadline=7200)
    assert len(found.curve) < 40
    assert found.feasible
    assert found.containers is not None
    assert 50_000 * 60 / 7200 < found.containers < 900
    ends = [offer.p95_seconds for offer in found.curve]
    assert ends == sorted(ends, reverse=True)


@pytest.mark.parametrize(("seconds", "written"), [(0.0, 0.0), (0.01, 0.1), (9.91, 10.0), (10.01, 11.0), (600.0, 600.0)])
def test_counter_offers_are_rounded_up_to_what_people_write(seconds: float, written: float) -> None:
    assert rounded_up(seconds) == written


def test_the_workload_counts_jobs_and_tasks() -> None:
    text = b"jobs:\n- {id: a, tasks: [{command: [x]}]}\n- {id: b, tasks: [{command: [x]}, {command: [y]}]}\n"
    assert workload_of(read_description(text)) == Workload(2, 2)
    sweep = b"sweep: {parameters: {n: {from: 1, to: 30000, step: 1}}, job: {command: [x, '{{n}}']}}"
    assert workload_of(read_description(sweep)) == Workload(30_000, 1)
    experiment, workload = read_lines([b'{"name": "t"}\n', b"\n", b'{"command": ["x"]}\n', b'{"command": ["x"]}'])
    assert (experiment.name, workload) == ("t", Workload(2, 1))


def test_more_lines_than_an_experiment_may_have_are_refused() -> None:
    lines = [b'{"name": "t"}', *[b'{"command": ["x"]}'] * 3]
    assert read_lines(lines, max_jobs=3)[1] == Workload(3, 1)
    with pytest.raises(DescriptionError, match="at most 2 jobs"):
        read_lines(lines, max_jobs=2)


def test_the_time_that_receiving_took_is_gone() -> None:
    """100 jobs of a minute on 10 containers need more than ten minutes."""
    offered = described(deadline=1200, containers={"min": 1, "max": 10})
    known = {"history": Durations.of([60.0] * 100), "start_seconds": 1.0}
    assert quote(offered, Workload(100), now=NOW, **known).feasible
    assert not quote(offered, Workload(100), now=NOW, received_at=NOW - 700, **known).feasible
