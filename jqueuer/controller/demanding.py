"""What an experiment asks of the cluster, from what was seen of it and decided about it."""

from __future__ import annotations

from collections import Counter

from jqueuer.controller.observation import ControllerState, Observation
from jqueuer.model import Experiment
from jqueuer.records import ExperimentRecord
from jqueuer.scheduling import Constraint, Demand, parse_constraint
from jqueuer.states import ContainerState, ExperimentState


def demand_of(
    state: ControllerState, observation: Observation, record: ExperimentRecord, requested: int
) -> Demand | None:
    """The demand, where ``requested`` is what was asked for after the look; None for a service that is not ours."""
    description = record.description
    if description.container_name is not None:
        return None
    wanted = _wanted(state, observation, record, requested)
    in_place, draining = Counter[str](), Counter[str]()
    for container in () if observation.service is None else observation.service.containers:
        if container.node:
            (draining if container.state is ContainerState.DRAINING else in_place)[container.node] += 1
    return Demand(
        experiment_id=record.id,
        created_at=record.created_at,
        deadline_at=record.deadline_at,
        priority=description.priority,
        minimum=min(description.containers.min, wanted),
        wanted=wanted,
        requested=requested,
        cpu_cores=description.resources.cpu.reserve or 0.0,
        memory_bytes=description.resources.memory.reserve or 0,
        constraints=constraints_of(description),
        in_place=in_place,
        draining=draining,
    )


def constraints_of(description: Experiment) -> tuple[Constraint, ...]:
    """Its placement constraints; what nobody can read is left to the orchestrator, which says so."""
    found = []
    for text in description.placement:
        try:
            found.append(parse_constraint(text))
        except ValueError:
            continue
    return tuple(found)


def _wanted(state: ControllerState, observation: Observation, record: ExperimentRecord, requested: int) -> int:
    if record.state is ExperimentState.FINISHING:
        return 1  # the post command's
    if record.state is not ExperimentState.RUNNING or observation.counts.left == 0:
        return 0
    if state.wanted is not None:
        wanted = state.wanted
    elif observation.service is None and state.created_at is None:
        wanted = record.description.containers.min  # nothing is decided yet
    else:
        wanted = requested
    return wanted if state.placeable is None else min(wanted, state.placeable)
