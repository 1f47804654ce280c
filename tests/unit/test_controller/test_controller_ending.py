import pytest
from controller_looks import POST, entry, look, record, service, watch

from jqueuer.controller import (
    ControllerState,
    CreateService,
    DeleteQueue,
    DestroyService,
    Finish,
    MoveTo,
    QueuePost,
    ScaleService,
    Settle,
)
from jqueuer.records import Counts
from jqueuer.states import ExperimentState, JobState

RUNNING, FINISHING = ExperimentState.RUNNING, ExperimentState.FINISHING
ALL = Counts(accomplished=20)
CALM = service(4, idle=4)


def test_when_every_job_is_accomplished_so_is_the_experiment() -> None:
    """The service goes before the outcome is recorded: interrupted in between, the experiment is still looked after."""
    _, (first,) = watch(look(288, counts=ALL, service=CALM))
    why = "20 jobs accomplished, 12 s before the deadline"
    assert first == [
        DestroyService(why),
        DeleteQueue(why),
        Finish(ExperimentState.ACCOMPLISHED, (RUNNING,), why),
        entry(288, "finish", why, 0),
    ]


@pytest.mark.parametrize(
    ("counts", "reason"),
    [
        (Counts(accomplished=17, failed=3), "3 of 20 jobs failed"),
        (Counts(accomplished=17, failed=1, cancelled=2), "1 of 20 jobs failed, 2 of 20 jobs cancelled"),
        (Counts(), "it has no jobs"),
    ],
)
def test_otherwise_it_failed_and_says_why(counts: Counts, reason: str) -> None:
    _, (first,) = watch(look(counts=counts))
    assert first == [
        DeleteQueue(reason),
        Finish(ExperimentState.FAILED, (RUNNING,), reason),
        entry(0, "finish", reason, 0),
    ]


@pytest.mark.parametrize(
    ("deadline_at", "words"), [(None, ""), (1300.0, ", 46 s after the deadline"), (1346.0, ", 0 s before the deadline")]
)
def test_the_outcome_tells_how_the_deadline_was_met(deadline_at: float | None, words: str) -> None:
    _, (first,) = watch(look(346, record=record(deadline_at=deadline_at), counts=ALL))
    assert Finish(ExperimentState.ACCOMPLISHED, (RUNNING,), f"20 jobs accomplished{words}") in first


def test_the_post_command_runs_on_one_container_after_the_last_job() -> None:
    why = "3 of 20 jobs failed; the post command follows"
    counts = Counts(accomplished=17, failed=3)
    running, finishing = record(post=POST), record(FINISHING, post=POST)
    _, all_told = watch(
        look(100, record=running, counts=counts, service=CALM),
        look(101, record=finishing, counts=counts, service=service(1, idle=1), post=JobState.QUEUED),
        look(102, record=finishing, counts=counts, service=service(1, busy=1), post=JobState.RUNNING),
        look(103, record=finishing, counts=counts, service=service(1, idle=1), post=JobState.ACCOMPLISHED),
    )
    why_failed = "3 of 20 jobs failed"
    assert all_told == [
        [
            MoveTo(FINISHING, (RUNNING,), why),
            QueuePost(why),
            ScaleService(1, 4, "the post command needs one container", by_autoscaler=False),
            entry(100, "post", why, 1),
        ],
        [],
        [],
        [
            DestroyService(why_failed),
            DeleteQueue(why_failed),
            Finish(ExperimentState.FAILED, (FINISHING,), why_failed),
            entry(103, "finish", why_failed, 0),
        ],
    ]


@pytest.mark.parametrize(
    ("post", "problem", "state", "reason"),
    [
        (JobState.ACCOMPLISHED, "", ExperimentState.ACCOMPLISHED, "20 jobs accomplished, 300 s before the deadline"),
        (JobState.FAILED, "exit code 2", ExperimentState.FAILED, "the post command failed: exit code 2"),
        (JobState.FAILED, "", ExperimentState.FAILED, "the post command failed"),
        (JobState.CANCELLED, "", ExperimentState.FAILED, "the post command was cancelled"),
    ],
)
def test_the_post_command_decides_with_the_jobs(
    post: JobState, problem: str, state: ExperimentState, reason: str
) -> None:
    _, (first,) = watch(look(record=record(FINISHING, post=POST), counts=ALL, post=post, post_problem=problem))
    assert first == [DeleteQueue(reason), Finish(state, (FINISHING,), reason), entry(0, "finish", reason, 0)]


def test_a_post_command_that_is_missing_is_queued_and_given_a_container() -> None:
    """As after a restart between the change of state and the queueing."""
    _, all_told = watch(*(look(after, record=record(FINISHING, post=POST), counts=ALL) for after in (0, 1)))
    queue = QueuePost("the post command is not queued yet")
    assert all_told == [[queue, CreateService(1, "the post command needs one container")], [queue]]


def test_an_ended_experiment_settles_when_none_of_its_containers_is_left() -> None:
    done = record(ExperimentState.ACCOMPLISHED)
    _, all_told = watch(
        look(0, counts=ALL, service=service(2, idle=1, busy=1)),
        look(1, record=done, counts=ALL, service=service(0, draining=1)),
        look(2, record=done, counts=ALL, service=service(0)),
    )
    why = "the experiment is accomplished"
    assert all_told[1:] == [[], [DeleteQueue(why), Settle(f"{why} and nothing of it runs any more")]]


def test_a_cancelled_experiment_settles_when_its_running_jobs_have_stopped() -> None:
    cancelled = record(ExperimentState.CANCELLED, reason="by alice")
    stopping = Counts(running=2, cancelled=18)
    _, all_told = watch(
        look(0, record=cancelled, counts=stopping, service=service(4, busy=2, idle=2)),
        look(1, record=cancelled, counts=stopping, service=service(0, draining=2)),
        look(2, record=cancelled, counts=stopping, service=None),
        look(3, record=cancelled, counts=Counts(cancelled=20), service=None),
    )
    why = "the experiment is cancelled"
    assert all_told == [
        [DestroyService(why), DeleteQueue(why), entry(0, "release", f"{why}: by alice", 0)],
        [],
        [],
        [DeleteQueue(why), Settle(f"{why} and nothing of it runs any more")],
    ]


def test_a_running_post_command_is_waited_for_after_a_cancellation() -> None:
    seen = {"record": record(ExperimentState.CANCELLED, post=POST), "counts": ALL}
    _, (_, second, third) = watch(
        look(0, post=JobState.RUNNING, **seen),
        look(1, post=JobState.RUNNING, **seen),
        look(2, post=JobState.CANCELLED, **seen),
    )
    assert second == []
    assert isinstance(third[-1], Settle)


def test_a_service_that_outlives_its_end_is_destroyed_again() -> None:
    seen = {"record": record(ExperimentState.CANCELLED), "counts": Counts(cancelled=20), "service": service(4)}
    _, (_, second, third) = watch(look(0, **seen), look(1, **seen), look(5, **seen))
    why = "the experiment is cancelled"
    assert second == []
    assert third == [DestroyService(why), DeleteQueue(why)]


def test_a_deleted_experiment_gives_up_what_it_held() -> None:
    _, all_told = watch(
        look(0, record=None, counts=Counts(), service=CALM), look(1, record=None, counts=Counts(), service=None)
    )
    why = "the experiment was deleted"
    assert all_told == [
        [DestroyService(why), DeleteQueue(why)],
        [DeleteQueue(why), Settle(f"{why} and nothing of it runs any more")],
    ]


def test_a_retried_experiment_gets_a_new_service() -> None:
    """At once, and once, even if its containers are still draining from before."""
    _, all_told = watch(
        look(0),
        look(1, counts=Counts(failed=20), service=CALM),
        look(2, service=service(0, draining=1)),
        look(3, service=service(4, starting=4, draining=1)),
    )
    created = [any(isinstance(command, CreateService) for command in commands) for commands in all_told]
    assert created == [True, False, True, False]


def test_without_jobs_left_nothing_is_scaled() -> None:
    _, (first,) = watch(look(counts=ALL, service=service(1, idle=1)), state=ControllerState())
    assert not any(isinstance(command, ScaleService | CreateService) for command in first)
