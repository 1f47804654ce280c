"""The store's clock is set while an experiment runs: pauses last as long as before."""

import pytest
from controller_looks import look, record, service, watch

from jqueuer.controller import ControllerState, CreateService, ReplaceContainers, RepublishQueued, shifted
from jqueuer.records import Counts

HOUR = 3600.0


@pytest.mark.parametrize("jump", [HOUR, -HOUR])
def test_a_service_that_is_not_seen_is_created_again_as_late_as_before(jump: float) -> None:
    state, _ = watch(look())
    state = shifted(state, jump)
    _, all_told = watch(*(look(jump + after) for after in (1, 4, 5, 6)), state=state)
    assert [any(isinstance(command, CreateService) for command in told) for told in all_told] == [
        False, False, True, False,
    ]  # fmt: skip


@pytest.mark.parametrize("jump", [HOUR, -HOUR])
def test_lost_messages_are_noticed_as_late_as_before(jump: float) -> None:
    idle = service(4, idle=1, busy=3)
    state, _ = watch(look(service=idle), look(1, service=idle, queue_length=0))
    looks = [look(jump + after, service=idle, queue_length=0) for after in (2, 3, 4)]
    _, all_told = watch(*looks, state=shifted(state, jump))
    assert [any(isinstance(command, RepublishQueued) for command in told) for told in all_told] == [False, False, True]


@pytest.mark.parametrize("jump", [HOUR, -HOUR])
def test_no_container_is_replaced_early_or_late_because_of_it(jump: float) -> None:
    idle = service(1, idle=1)
    state, _ = watch(*(look(after, service=idle) for after in range(50)))
    _, all_told = watch(*(look(jump + after, service=idle) for after in range(50, 62)), state=shifted(state, jump))
    replaced = [50 + at for at, told in enumerate(all_told) if any(isinstance(c, ReplaceContainers) for c in told)]
    assert replaced == [60]


def test_every_moment_that_is_remembered_moves() -> None:
    """Whoever adds a moment to the state adds it to what is moved."""
    waiting = look(service=service(4, idle=2, starting=1, problem="no suitable node"), queue_length=0)
    state, _ = watch(look(), waiting, look(1, service=service(4, idle=2, problem="no suitable node"), queue_length=0))
    moved = shifted(state, HOUR)
    moments = {"calculated_at", "created_at", "starved_since"}
    for name in moments:
        assert getattr(moved, name) == getattr(state, name) + HOUR
    assert moved.problems_told == tuple((problem, at + HOUR) for problem, at in state.problems_told)
    assert moved.starts.asked_at == tuple(at + HOUR for at in state.starts.asked_at)
    assert shifted(moved, -HOUR) == state
    named = {name for name in ControllerState.__dataclass_fields__ if name.endswith(("_at", "_since"))}
    everything = ControllerState(**dict.fromkeys(named, 5.0))
    assert all(getattr(shifted(everything, 1.0), name) == 6.0 for name in named)


def test_ages_of_jobs_are_never_negative() -> None:
    """Containers and their jobs were begun in what is the future by the clock as it is now."""
    busy = service(2, busy=2)
    ahead = tuple(one.model_copy(update={"busy_since": 5000.0, "job": one.id}) for one in busy.containers)
    seen = look(
        service=busy.model_copy(update={"containers": ahead}),
        record=record(policy="deadline-forecast"),
        counts=Counts(queued=18, running=2),
    )
    _, all_told = watch(look(), seen, seen)
    assert all(command.containers > 0 for told in all_told for command in told if isinstance(command, CreateService))
