"""What a policy is told of what was measured."""

from dataclasses import replace
from typing import Any

from controller_looks import START, look, record, service, watch

from cautoscaler import Advice, Concurrency, Durations, Measured
from jqueuer.controller import ControllerState, ScaleService
from jqueuer.controller.situation import situation_of
from jqueuer.controller.starts import Starts
from jqueuer.records import ContainerStatus, ServiceStatus, Statistics
from jqueuer.states import ContainerState, ExperimentState

MEASURED = Measured(
    durations=Durations.of([3.0, 40.0]),
    concurrency=(Concurrency(2, 2, 43.0),),
    unsuccessful=1,
    unsuccessful_seconds=5.0,
)
REST = record(policy={"url": "http://policy.example/containers", "period": 10})


def container(name: str, state: str, **more: Any) -> ContainerStatus:
    return ContainerStatus(id=name, node="n", state=ContainerState(state), **{"started_at": START + 10, **more})


def test_what_was_measured_is_told_with_the_start_delay_the_controller_saw() -> None:
    seen = look(30, measured=MEASURED, history=Durations.of([60.0]))
    starts = Starts(asked_at=(START + 12, START + 25), mean_seconds=4.5)
    found = situation_of(ControllerState(starts=starts, changed_at=START + 25), seen, record())
    assert found.measured == replace(MEASURED, start_seconds=4.5)
    assert found.history == Durations.of([60.0])
    assert (found.starting_seconds, found.changed_at) == ((18.0, 5.0), START + 25)


def test_running_jobs_are_told_with_those_that_drain_last() -> None:
    containers = (
        container("a", "draining", job="1", busy_since=START + 21),
        container("b", "busy", job="2", busy_since=START + 11),
        container("c", "idle"),
        container("d", "draining"),
        container("e", "busy", job="3", busy_since=START + 33),
        container("f", "busy", job="4", busy_since=START + 15),
    )
    found = situation_of(
        ControllerState(), look(30, service=ServiceStatus(requested=4, containers=containers)), record()
    )
    assert (found.running_seconds, found.draining_running) == ((19.0, 0.0, 15.0, 9.0), 1)
    assert (found.containers.busy, found.containers.draining) == (3, 2)


def test_containers_are_paid_for_until_now() -> None:
    containers = (container("a", "busy"), container("b", "draining", started_at=START + 25))
    seen = look(
        30, service=ServiceStatus(requested=1, containers=containers), statistics=Statistics(container_seconds=100.0)
    )
    assert situation_of(ControllerState(), seen, record()).container_seconds == 125.0
    assert situation_of(ControllerState(), look(30), record()).container_seconds == 0.0


def test_a_number_changes_when_a_decision_changes_it() -> None:
    """Neither the first number nor a pause is a change to a policy."""
    steps = [
        look(0, record=REST),
        look(1, record=REST, advice=Advice(3)),
        look(12, record=REST, service=service(3, idle=3)),
        look(13, record=REST, service=service(3, idle=3), advice=Advice(3)),
    ]
    state, _ = watch(*steps)
    assert state.changed_at is None
    up = (
        look(24, record=REST, service=service(3, idle=3)),
        look(25, record=REST, service=service(3, idle=3), advice=Advice(5)),
        look(26, record=REST, service=service(5, idle=5)),
    )
    state, all_told = watch(*up, state=state)
    assert any(isinstance(command, ScaleService) for command in all_told[1])
    assert state.changed_at == START + 25
    paused = REST.model_copy(update={"state": ExperimentState.PAUSED})
    state, _ = watch(look(30, record=paused, service=service(5, idle=5)), state=state)
    assert state.changed_at is None
