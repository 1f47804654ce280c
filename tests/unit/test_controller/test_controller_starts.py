"""The start delay, as the controller measures it by watching."""

import pytest
from controller_looks import START, look, record, watch

from jqueuer.controller import ControllerState
from jqueuer.controller.starts import NOTHING_STARTED, WEIGHT_OF_THE_LATEST, Starts, asked, looked
from jqueuer.records import ContainerStatus, ServiceStatus
from jqueuer.states import ContainerState, ExperimentState


def seen(
    requested: int, up: str = "", starting: str = "", draining: str = "", unplaced: int = 0, since: float | None = None
) -> ServiceStatus:
    """A service; containers have one letter each and were started at START, those that are up are busy ``since``."""
    state = ContainerState.IDLE if since is None else ContainerState.BUSY
    states = ((up, state), (starting, ContainerState.STARTING), (draining, ContainerState.DRAINING))
    containers = [
        ContainerStatus(id=name, node="n", state=state, started_at=START, busy_since=since if name in up else None)
        for names, state in states
        for name in names
    ]
    return ServiceStatus(requested=requested, containers=tuple(containers), unplaced=unplaced)


def created(containers: int, at: float = 0.0) -> Starts:
    """Watched from before the service was created."""
    return asked(looked(NOTHING_STARTED, None, at), None, containers, at)


def test_the_delay_is_from_the_request_until_the_container_takes_jobs() -> None:
    starts = looked(created(1, at=100.0), seen(1, starting="a"), 103.0)
    assert (starts.mean_seconds, starts.starting_seconds(103.0)) == (None, (3.0,))
    starts = looked(starts, seen(1, up="a"), 107.0)
    assert (starts.mean_seconds, starts.starting_seconds(107.0)) == (7.0, ())


def test_a_container_that_is_found_at_work_was_up_when_it_began() -> None:
    assert looked(created(1, at=100.0), seen(1, up="a", since=104.5), 107.0).mean_seconds == 4.5
    assert looked(created(1, at=100.0), seen(1, up="a", since=108.0), 107.0).mean_seconds == 7.0, "clocks differ"


def test_the_first_that_comes_up_answers_the_oldest_request() -> None:
    starts = created(2, at=0.0)
    starts = asked(starts, seen(2), 3, 10.0)
    starts = looked(starts, seen(3, up="a", starting="bc"), 12.0)
    assert (starts.mean_seconds, starts.starting_seconds(12.0)) == (12.0, (12.0, 2.0))
    starts = looked(starts, seen(3, up="abc"), 13.0)
    after_second = 12.0 + WEIGHT_OF_THE_LATEST * (13.0 - 12.0)
    assert starts.mean_seconds == pytest.approx(after_second + WEIGHT_OF_THE_LATEST * (3.0 - after_second))
    assert starts.starting_seconds(13.0) == ()


def test_the_latest_delays_count_most() -> None:
    """The first container waits for the image, the later ones find it there."""
    starts, names = looked(created(1), seen(1, up="a"), 100.0), "abcdefghi"
    for number in range(1, len(names)):
        at = 200.0 + 10 * number
        starts = asked(starts, seen(number, up=names[:number]), number + 1, at)
        starts = looked(starts, seen(number + 1, up=names[: number + 1]), at + 2.0)
    assert starts.mean_seconds is not None
    assert 2.0 < starts.mean_seconds < 2.0 + 98.0 * 0.06


def test_scaling_down_gives_up_the_youngest_requests() -> None:
    starts = asked(created(2, at=0.0), seen(2), 4, 5.0)
    starts = asked(starts, seen(4, starting="abcd"), 3, 6.0)
    assert starts.starting_seconds(6.0) == (6.0, 6.0, 1.0)
    starts = looked(starts, seen(1, starting="a"), 7.0)
    assert starts.starting_seconds(7.0) == (7.0,), "whoever scaled it down"


def test_replacing_a_lost_container_is_a_start() -> None:
    starts = looked(created(2), seen(2, up="ab"), 4.0)
    starts = looked(starts, seen(2, up="a"), 50.0)
    assert starts.starting_seconds(51.0) == (1.0,)
    starts = looked(starts, seen(2, up="ac"), 58.0)
    assert starts.mean_seconds == pytest.approx(4.0 + WEIGHT_OF_THE_LATEST * (8.0 - 4.0))


def test_a_new_container_beside_a_draining_one_is_a_start() -> None:
    starts = looked(created(2), seen(2, up="ab"), 4.0)
    starts = looked(asked(starts, seen(2, up="ab"), 1, 10.0), seen(1, up="a", draining="b"), 11.0)
    assert starts.asked_at == ()
    starts = asked(starts, seen(1, up="a", draining="b"), 2, 12.0)
    starts = looked(starts, seen(2, up="a", draining="b"), 13.0)
    assert starts.starting_seconds(13.0) == (1.0,)


def test_what_was_there_before_the_manager_was_is_not_measured() -> None:
    starts = looked(NOTHING_STARTED, seen(4, up="a", starting="bc"), START + 30.0)
    assert starts.starting_seconds(START + 31.0) == (31.0, 31.0, 1.0), "as far as it is known"
    starts = asked(starts, seen(4, up="a", starting="bc"), 5, START + 40.0)
    starts = looked(starts, seen(5, up="abcd"), START + 45.0)
    assert (starts.mean_seconds, starts.starting_seconds(START + 45.0)) == (None, (5.0,))
    assert looked(starts, seen(5, up="abcde"), START + 49.0).mean_seconds == 9.0


def test_inherited_requests_that_are_given_up_leave_the_later_ones_measured() -> None:
    starts = looked(NOTHING_STARTED, seen(3, starting="abc"), START)
    starts = asked(starts, seen(3, starting="abc"), 0, START + 1.0)
    starts = asked(starts, seen(0), 1, START + 2.0)
    assert looked(starts, seen(1, up="d"), START + 5.0).mean_seconds == 3.0


def test_a_container_whose_agent_was_started_anew_was_not_started_itself() -> None:
    starts = looked(created(1), seen(1, up="a"), 4.0)
    starts = looked(starts, seen(1, starting="a"), 20.0)
    starts = looked(starts, seen(1, up="a"), 21.0)
    assert (starts.mean_seconds, starts.asked_at) == (4.0, ())


def test_containers_without_a_node_are_not_starting() -> None:
    starts = looked(created(3), seen(3, up="a", unplaced=2), 4.0)
    assert starts.starting_seconds(4.0) == ()
    starts = looked(starts, seen(3, up="a", starting="b", unplaced=1), 1000.0)
    starts = looked(starts, seen(3, up="ab", unplaced=1), 1002.0)
    assert starts.mean_seconds == pytest.approx(4.0 + WEIGHT_OF_THE_LATEST * (2.0 - 4.0))


def test_more_containers_than_were_asked_for_tell_nothing() -> None:
    starts = looked(created(1), seen(1, up="abc"), 4.0)
    assert (starts.mean_seconds, starts.asked_at) == (4.0, ())


def test_a_service_that_is_created_again_is_waited_for_anew() -> None:
    starts = looked(created(2), None, 3.0)
    assert starts.starting_seconds(3.0) == (3.0, 3.0), "it need not be seen at once"
    assert asked(starts, None, 1, 6.0).starting_seconds(6.0) == (0.0,)


def test_the_controller_watches_what_it_asks_for() -> None:
    """Four are created at 0 and up at 6; pausing and resuming ends the waiting, but the delay stays known."""
    paused = record(ExperimentState.PAUSED)
    state, _ = watch(look(), look(1, service=seen(4, starting="abcd")), look(6, service=seen(4, up="abcd")))
    assert (state.starts.mean_seconds, state.starts.asked_at) == (6.0, ())
    state, _ = watch(look(7, record=paused, service=seen(4, up="abcd")), state=state)
    assert state.starts.asked_at == ()
    state, _ = watch(look(9, record=paused, service=seen(0)), look(10, service=seen(0)), state=state)
    assert state.starts.asked_at == (START + 10,) * 5
    state, _ = watch(look(12, service=seen(5, up="efghi")), state=state)
    assert state.starts.mean_seconds is not None
    assert 2.0 < state.starts.mean_seconds < 3.0


def test_a_look_without_the_engine_tells_nothing() -> None:
    state, _ = watch(look(), look(1, service=seen(4, up="abcd")))
    after, _ = watch(look(9, engine_problem="it is away"), state=state)
    assert after.starts == state.starts


def test_a_fresh_controller_watches_from_its_first_look() -> None:
    state, _ = watch(look(3, service=seen(4, up="ab")), look(5, service=seen(4, up="abcd")), state=ControllerState())
    assert (state.starts.mean_seconds, state.starts.asked_at) == (None, ())
