"""The account of a run knows what went wrong, and whose fault it was."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from tests.chaos.accounting import Account, Attempt, Hit, Injection, Said, account
from tests.chaos.schedule import Fault, Kind

LEASE_SECONDS = 8.0
FIRST = Attempt("a", 1, "c1", "n1", 10.0, 12.0, "lost")
SECOND = Attempt("a", 2, "c2", "n2", 13.0, 15.0, "accomplished")
OTHER = Attempt("b", 1, "c2", "n2", 10.0, 12.5, "accomplished")


def injection(hit: Hit, began_at: float = 11.0, ended_at: float = 11.1, *, sparing: bool = False) -> Injection:
    return Injection(Fault(1, Kind("broken", 1, sparing), 0.0), "it", hit, began_at, ended_at, 3.0, 10)


def said(*attempts: Attempt) -> Said:
    keys = [(attempt.job, attempt.number) for attempt in attempts]
    return Said(Counter(keys), Counter(keys))


ALL_SAID = said(FIRST, SECOND, OTHER)


def of(*attempts: Attempt, injections: list[Injection], said: Said = ALL_SAID) -> Account:
    states = dict.fromkeys((attempt.job for attempt in attempts), "accomplished")
    return account(states, attempts, said, injections, LEASE_SECONDS)


def test_an_attempt_that_was_in_flight_on_what_was_hit_is_allowed() -> None:
    found = of(FIRST, SECOND, OTHER, injections=[injection(Hit(nodes=frozenset({"n1"})))])
    assert found.sound
    assert (found.extra_attempts, found.allowed_extra_attempts) == (1, 1)
    assert [(cost.in_flight, cost.lost, cost.resumed_seconds) for cost in found.costs] == [(1, 1, 4.0)]


def test_an_attempt_that_was_lost_elsewhere_or_at_another_time_is_not() -> None:
    elsewhere = injection(Hit(containers=frozenset({"c2"})))
    too_late = injection(Hit(everything=True), 12.1, 12.2)
    too_early = injection(Hit(everything=True), 9.0, 9.9)
    for wrong in (elsewhere, too_late, too_early):
        found = of(FIRST, SECOND, OTHER, injections=[wrong])
        assert found.unexplained == (FIRST,)
        assert not found.sound


def test_an_attempt_begun_after_the_fault_is_allowed_only_where_what_was_hit_does_not_come_back() -> None:
    hit = Hit(containers=frozenset({"c1"}))
    assert of(FIRST, SECOND, OTHER, injections=[injection(hit, 9.0, 9.9)]).unexplained == (FIRST,)
    found = of(FIRST, SECOND, OTHER, injections=[injection(replace(hit, for_good=True), 9.0, 9.9)])
    assert (found.sound, found.allowed_extra_attempts) == (True, 1)


def test_a_fault_that_hits_nothing_costs_nothing() -> None:
    assert of(SECOND, OTHER, injections=[injection(Hit())]).allowed_extra_attempts == 0
    assert of(FIRST, SECOND, OTHER, injections=[injection(Hit())]).unexplained == (FIRST,)


def test_a_sparing_fault_costs_nothing_unless_it_lasts_longer_than_a_lease() -> None:
    node = Hit(nodes=frozenset({"n1"}))
    assert not of(FIRST, SECOND, OTHER, injections=[injection(node, sparing=True)]).sound
    long = injection(node, 11.0, 11.0 + LEASE_SECONDS, sparing=True)
    assert of(FIRST, SECOND, OTHER, injections=[long]).sound


def test_a_lost_attempt_is_put_down_to_the_last_fault_it_was_hit_by() -> None:
    one, another = injection(Hit(everything=True), 10.5, 10.6), injection(Hit(everything=True), 11.5, 11.6)
    found = of(FIRST, SECOND, OTHER, injections=[one, another])
    assert [cost.lost for cost in found.costs] == [0, 1]


def test_a_job_that_was_not_accomplished_is_lost() -> None:
    states = {"a": "accomplished", "b": "failed", "c": "queued"}
    assert account(states, [FIRST, SECOND], said(FIRST, SECOND), [], LEASE_SECONDS).lost == ("b", "c")


def test_an_outcome_that_the_job_itself_did_not_testify_is_lost() -> None:
    assert of(FIRST, SECOND, OTHER, injections=[], said=said(FIRST, OTHER)).lost == ("a",)


def test_two_outcomes_of_a_job_are_doubled() -> None:
    again = replace(SECOND, number=3)
    assert of(SECOND, again, OTHER, injections=[]).doubled == ("a",)


def test_an_attempt_that_ran_twice_is_doubled() -> None:
    assert of(SECOND, OTHER, injections=[], said=said(SECOND, SECOND, OTHER)).doubled == ("a, attempt 2",)
