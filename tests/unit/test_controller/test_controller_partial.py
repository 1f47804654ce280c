"""``on_conflict: partial``: jobs that are not begun by the deadline, or within the budget, are cancelled."""

from typing import Any

import pytest
from controller_looks import entry, look, record, service, watch

from jqueuer.controller import CancelQueued
from jqueuer.records import Counts, Statistics
from jqueuer.simulation import Scenario, simulate


def policy(**keys: Any) -> dict[str, Any]:
    return {"name": "deadline-forecast", "on_conflict": "partial", **keys}


def late(seconds: float, queued: int = 5, **keys: Any) -> Any:
    counts = Counts(queued=queued, running=2, accomplished=13)
    return look(seconds, record=record(policy=policy(**keys)), counts=counts, service=service(2, busy=2))


def cancelled(*commands: Any) -> list[Any]:
    return [command for command in commands if isinstance(command, CancelQueued)]


def test_past_the_deadline_what_is_not_begun_is_cancelled() -> None:
    _, (told,) = watch(late(301))
    reason = "the deadline has passed: 5 jobs not begun yet are cancelled, as on_conflict says"
    assert told == [CancelQueued(reason), entry(301, "give-up", reason)]


def test_before_the_deadline_and_for_running_jobs_nothing_is() -> None:
    for seen in (late(299), late(301, queued=0)):
        _, (told,) = watch(seen)
        assert not cancelled(*told)


def test_so_it_is_when_the_budget_is_spent() -> None:
    seen = late(100, budget={"container_hours": 0.1})
    spent = Statistics(tasks_defined=20, container_seconds=361.0)
    _, (told,) = watch(look(100, record=seen.record, counts=seen.counts, service=None, statistics=spent))
    assert cancelled(*told)


@pytest.mark.parametrize("rule", ["late", "budget"])
def test_other_rules_cancel_nothing(rule: str) -> None:
    _, (told,) = watch(late(301, on_conflict=rule))
    assert not cancelled(*told)


def test_nor_does_a_policy_that_knows_no_rule() -> None:
    seen = late(301)
    fixed = record(policy={"name": "fixed", "on_conflict": "partial"})
    _, (told,) = watch(look(301, record=fixed, counts=seen.counts, service=seen.service))
    assert not cancelled(*told)


def test_the_experiment_ends_when_the_jobs_under_way_have() -> None:
    outcome = simulate(
        Scenario.model_validate(
            {
                "name": "partial",
                "jobs": 100,
                "durations": {"constant": "60s"},
                "experiment": {"deadline": "10m", "containers": {"max": 5}, "estimate": "60s", "policy": policy()},
            }
        )
    )
    assert 600 <= outcome.finished_seconds <= 700
    assert outcome.accomplished + outcome.cancelled == 100
    assert outcome.accomplished in range(50, 56)
    assert outcome.deadline_met is False
