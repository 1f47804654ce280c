"""Builders of observations, and commands as the tests compare them."""

from typing import Any

from jqueuer.controller import Command, Commands, ControllerState, Journal, Observation, step
from jqueuer.model import Experiment
from jqueuer.records import ContainerStatus, Counts, ExperimentRecord, JournalEntry, ServiceStatus, Statistics
from jqueuer.states import ContainerState, ExperimentState

START = 1000.0
POST = {"command": ["collect"]}


def record(state: ExperimentState = ExperimentState.RUNNING, **changes: Any) -> ExperimentRecord:
    """20 jobs of about 60 s within 300 s, 1..10 containers, all published; description keys can be changed, too."""
    fields = {key: changes.pop(key) for key in list(changes) if key in ExperimentRecord.model_fields}
    description = {
        "estimate": 60,
        "containers": {"min": 1, "max": 10},
        "deadline": 300,
        "policy": "deadline-paper",
        **changes,
    }
    values: dict[str, Any] = {"id": "e1", "created_at": START, "deadline_at": START + 300, "published": 20, **fields}
    return ExperimentRecord(description=Experiment.model_validate(description), state=state, **values)


def service(requested: int, problem: str = "", **numbers: int) -> ServiceStatus:
    """A service with so many ``idle``, ``busy`` … containers."""
    containers = [
        ContainerStatus(id=f"{state}-{index}", node="n1", state=ContainerState(state), started_at=START)
        for state, number in numbers.items()
        for index in range(number)
    ]
    return ServiceStatus(requested=requested, containers=tuple(containers), problem=problem)


def look(after: float = 0.0, **changes: Any) -> Observation:
    """The experiment so many seconds after its receipt, its 20 jobs queued."""
    values: dict[str, Any] = {
        "record": record(),
        "counts": Counts(queued=20),
        "statistics": Statistics(tasks_defined=20),
        "queue_length": 20,
        **changes,
    }
    return Observation(now=START + after, **values)


def entry(after: float, action: str, reason: str, containers: int | None = None) -> Journal:
    """A journal command as :func:`told` shows it."""
    return Journal(JournalEntry(at=START + after, action=action, containers=containers, reason=reason))


def told(commands: Commands) -> list[Command]:
    """The commands, journal entries without their inputs."""
    return [
        Journal(command.entry.model_copy(update={"inputs": {}})) if isinstance(command, Journal) else command
        for command in commands
    ]


def watch(*looks: Observation, state: ControllerState | None = None) -> tuple[ControllerState, list[list[Command]]]:
    """One step after the other: the last state, and what each step told."""
    state, all_told = state or ControllerState(), []
    for one in looks:
        state, commands = step(state, one)
        all_told.append(told(commands))
    return state, all_told
