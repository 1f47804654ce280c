"""A service of the user's own, named by ``container_name``: jobs run in it, and nobody scales it."""

from controller_looks import entry, look, record, service, watch

from jqueuer.controller import CreateService, DestroyService
from jqueuer.records import Counts
from jqueuer.states import ExperimentState

OWN = record(container_name="own", deadline=None)
PAUSED = "paused: running jobs are finished, no new ones are begun"


def test_it_is_adopted_and_then_left_at_its_size() -> None:
    _, (first, *later) = watch(
        look(record=OWN), *(look(after, record=OWN, service=service(7, busy=7)) for after in (1, 400, 800))
    )
    assert [type(command) for command in first][:1] == [CreateService]
    assert later == [[], [], []]


def test_pausing_lets_go_of_it_and_resuming_adopts_it_again() -> None:
    """A service cannot be asked for no containers when it is somebody else's."""
    paused = record(ExperimentState.PAUSED, container_name="own", deadline=None)
    _, (_, pause, rest, resumed) = watch(
        look(record=OWN),
        look(1, record=paused, service=service(2, busy=2)),
        look(2, record=paused, service=service(0, draining=2)),
        look(3, record=OWN),
    )
    assert pause == [DestroyService(PAUSED), entry(1, "pause", PAUSED, 0)]
    assert rest == []
    assert isinstance(resumed[0], CreateService)


def test_its_post_command_is_run_in_any_of_its_containers() -> None:
    finishing = record(ExperimentState.FINISHING, container_name="own", deadline=None, post={"command": ["collect"]})
    done = {"counts": Counts(accomplished=20), "queue_length": 1}
    _, (first, second) = watch(*(look(after, record=finishing, service=service(2, idle=2), **done) for after in (1, 2)))
    assert not any("Scale" in type(command).__name__ for command in (*first, *second))
