from typing import Any

from controller_looks import START, entry, look, record, service, watch

from cautoscaler import Advice
from jqueuer.controller import AskPolicy, Commands, CreateService, ScaleService
from jqueuer.records import Counts, Statistics

URL = "http://policy.example/containers"
REST = record(policy={"url": URL, "timeout": 4, "period": 10, "fallback": "deadline-paper"})


def look_rest(after: float, **changes: Any) -> Any:
    return look(after, **{"record": REST, **changes})


def asked(told: list[Commands]) -> list[int]:
    return [index for index, commands in enumerate(told) if any(isinstance(one, AskPolicy) for one in commands)]


def test_the_service_is_asked_with_everything_a_policy_sees() -> None:
    seen = look_rest(
        20,
        counts=Counts(queued=8, running=3, accomplished=7, failed=2),
        statistics=Statistics(tasks=7, task_seconds=350.0, tasks_defined=39),
        service=service(4, starting=1, idle=1, busy=2, draining=1),
    )
    _, (first,) = watch(seen)
    assert first == [
        AskPolicy(
            URL,
            4.0,
            "the policy's period is over",
            {
                "experiment_id": "e1",
                "now": START + 20,
                "deadline_at": START + 300,
                "seconds_left": 280.0,
                "minimum": 1,
                "maximum": 10,
                "jobs": {
                    "queued": 8,
                    "running": 3,
                    "accomplished": 7,
                    "failed": 2,
                    "cancelled": 0,
                    "left": 11,
                    "total": 20,
                },
                "mean_task_seconds": 50.0,
                "estimate_seconds": 60.0,
                "tasks_per_job": 2,
                "containers": {"requested": 4, "starting": 1, "idle": 1, "busy": 2, "draining": 1},
            },
        )
    ]


def test_the_first_number_is_asked_for_before_the_service_is_created() -> None:
    _, (first, second, third) = watch(look_rest(0), look_rest(1), look_rest(2, advice=Advice(3)))
    why = "the policy service answered 3 containers; 3 containers are started"
    assert asked([tuple(first)]) == [0]
    assert second == []
    assert third == [CreateService(3, why), entry(2, "create", why, 3)]


def test_one_question_at_a_time_and_only_at_the_period() -> None:
    """Asked at 0 and answered at 2; the period of 10 s ends at 12, and that question is answered at 15."""
    up = service(3, busy=3)
    answers = {2: Advice(3), 15: Advice(5)}
    looks = [look_rest(after, service=up, advice=answers.get(after)) for after in range(26)]
    _, all_told = watch(*looks)
    assert asked([tuple(one) for one in all_told]) == [0, 12, 25]
    why = "the policy service answered 5 containers; from 3 to 5"
    assert all_told[15] == [ScaleService(5, 3, why), entry(15, "scale-up", why, 5)]


def test_an_error_is_journalled_and_the_fallback_decides() -> None:
    _, (_, second) = watch(look_rest(0), look_rest(1, advice=Advice(error="it answered with status 500")))
    why = (
        "the policy service gave no number (it answered with status 500), so deadline-paper decides: "
        "20 jobs × 1 task × 60 s (estimate) ÷ 299 s left = 5 containers; 5 containers are started"
    )
    assert second == [CreateService(5, why), entry(1, "create", why, 5)]


def test_a_question_whose_answer_never_comes_counts_as_lost() -> None:
    """The time-out is the loop's to keep; 5 s beyond it the controller waits no longer."""
    _, all_told = watch(*(look_rest(after) for after in (0, 4, 8.5, 9)))
    assert all_told[1:3] == [[], []]
    assert isinstance(all_told[3][0], CreateService)
    assert "no answer within 9 s" in all_told[3][0].reason


def test_an_answer_counts_even_if_the_period_grew_meanwhile() -> None:
    """As it does when the first tasks turn out to be longer than estimated."""
    quick = record(policy={"url": URL}, estimate=4)
    slow = {"counts": Counts(queued=19, accomplished=1), "statistics": Statistics(tasks=1, task_seconds=400.0)}
    up = service(3, busy=3)
    _, (_, _, asking, answered) = watch(
        look(0, record=quick, service=up),
        look(1, record=quick, service=up, advice=Advice(3)),
        look(2, record=quick, service=up),
        look(3, record=quick, service=up, advice=Advice(5), **slow),
    )
    assert isinstance(asking[0], AskPolicy)
    assert ScaleService(5, 3, "the policy service answered 5 containers; from 3 to 5") in answered


def test_an_answer_nobody_waits_for_is_ignored() -> None:
    _, (first,) = watch(look_rest(0, advice=Advice(9)))
    assert asked([tuple(first)]) == [0]
    assert len(first) == 1
