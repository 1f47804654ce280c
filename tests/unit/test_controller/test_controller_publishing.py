from controller_looks import entry, look, record, service, watch

from jqueuer.controller import CreateService, PublishNext, QueuePost, RepublishQueued
from jqueuer.records import Counts
from jqueuer.states import ExperimentState, JobState

LOST = "20 jobs queued, but the job queue is empty: messages were lost"
IDLE = service(4, idle=1, busy=3)


def batches(*commands: object) -> list[object]:
    return [command for command in commands if isinstance(command, PublishNext)]


def test_jobs_are_published_in_batches_after_the_service_is_created() -> None:
    _, (first,) = watch(look(record=record(published=0), counts=Counts(queued=2500)))
    why = "0 of 2500 jobs published so far"
    assert isinstance(first[0], CreateService)
    assert first[2:] == [PublishNext(0, 1000, why), PublishNext(1000, 1000, why), PublishNext(2000, 500, why)]


def test_no_step_publishes_more_than_five_thousand() -> None:
    _, (first,) = watch(look(record=record(published=3000), counts=Counts(queued=100_000)))
    assert [(batch.start, batch.count) for batch in first if isinstance(batch, PublishNext)] == [
        (start, 1000) for start in range(3000, 8000, 1000)
    ]


def test_running_and_ended_jobs_count_as_published() -> None:
    """Positions are those of all jobs, whatever became of the first ones meanwhile."""
    _, (first,) = watch(look(record=record(published=10), counts=Counts(queued=12, running=4, accomplished=4)))
    assert [(batch.start, batch.count) for batch in first if isinstance(batch, PublishNext)] == [(10, 10)]


def test_a_queue_that_stays_empty_while_jobs_wait_is_rebuilt() -> None:
    _, all_told = watch(look(service=IDLE), *(look(after, service=IDLE, queue_length=0) for after in (1, 2, 3.9, 4)))
    assert all_told[1:] == [[], [], [], [RepublishQueued(LOST), entry(4, "requeue", LOST)]]


def test_it_is_rebuilt_at_most_every_five_seconds() -> None:
    looks = [look(after / 2, service=IDLE, queue_length=0) for after in range(25)]
    _, all_told = watch(*looks)
    rebuilt = [after / 2 for after, told in enumerate(all_told) if RepublishQueued(LOST) in told]
    assert rebuilt == [3.0, 8.0]


def test_a_message_in_between_starts_the_wait_anew() -> None:
    looks = [look(after, service=IDLE, queue_length=int(after == 2)) for after in (0, 1, 2, 3, 4, 5)]
    _, all_told = watch(*looks)
    assert all(RepublishQueued(LOST) not in told for told in all_told)


def test_jobs_that_wait_for_their_back_off_are_not_missed() -> None:
    _, all_told = watch(*(look(after, service=IDLE, queue_length=0, delayed=20) for after in (0, 5)))
    assert all_told[1] == []


def test_while_all_containers_are_busy_nothing_is_missed() -> None:
    """Their next claims may be the messages; only a container that waits shows that they are gone."""
    _, all_told = watch(*(look(after, service=service(4, busy=4), queue_length=0) for after in (0, 5)))
    assert all_told[1] == []


def test_an_unfinished_first_publication_is_no_loss() -> None:
    _, (first, second) = watch(
        *(look(after, record=record(published=10), service=IDLE, queue_length=0) for after in (0, 5))
    )
    assert batches(*first) == batches(*second) == [PublishNext(10, 10, "10 of 20 jobs published so far")]
    assert RepublishQueued(LOST) not in second


def test_nothing_is_published_while_paused() -> None:
    """A claim would not succeed, and the message would be gone."""
    _, (first,) = watch(look(record=record(ExperimentState.PAUSED, published=0)))
    assert first == []


def test_a_lost_message_of_the_post_command_is_sent_again() -> None:
    finishing = record(ExperimentState.FINISHING, post={"command": ["collect"]})
    seen = {
        "record": finishing,
        "counts": Counts(accomplished=20),
        "post": JobState.QUEUED,
        "queue_length": 0,
        "service": service(1, idle=1),
    }
    _, all_told = watch(*(look(after, **seen) for after in (0, 2, 3, 4)))
    assert all_told == [[], [], [QueuePost("the message of the post command was lost")], []]
