"""From records to what CAutoScaler and a policy service are told."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from cautoscaler import Advice, ContainerCounts, Situation
from jqueuer.controller.observation import ControllerState, Observation
from jqueuer.controller.parameters import parameters_of
from jqueuer.model import Experiment
from jqueuer.records import ContainerStatus, Counts, ExperimentRecord, Statistics
from jqueuer.states import ContainerState, Phase

REST_POLICY = "rest"


def policy_name(description: Experiment) -> str:
    """The policy that decides: the one behind the URL where one is given, else the named one."""
    return REST_POLICY if description.policy.url else description.policy.name


def phase_of(counts: Counts) -> Phase:
    """The phase of an experiment: monitored from its first accomplished job on (paper §V-A)."""
    return Phase.MONITORED if counts.accomplished else Phase.INITIAL


def tasks_per_job(counts: Counts, statistics: Statistics) -> int:
    """Tasks of an average job, rounded up; at least 1."""
    return max(1, -(-statistics.tasks_defined // max(1, counts.total)))


def situation_of(
    state: ControllerState, observation: Observation, record: ExperimentRecord, advice: Advice | None = None
) -> Situation:
    """The situation a policy judges."""
    description, counts, now = record.description, observation.counts, observation.now
    containers = () if observation.service is None else observation.service.containers
    copied = _older_copies(containers) if description.hedge else frozenset[str]()
    running = [one for one in containers if one.state is ContainerState.BUSY and one.id not in copied]
    draining = [one for one in containers if one.state is ContainerState.DRAINING and one.job and one.id not in copied]
    lifetimes = sum(max(0.0, now - one.started_at) for one in containers)
    return Situation(
        now=now,
        started_at=record.created_at,
        deadline_at=record.deadline_at,
        minimum=description.containers.min,
        maximum=description.containers.max,
        jobs_total=counts.total,
        jobs_left=counts.left,
        jobs_accomplished=counts.accomplished,
        tasks_per_job=tasks_per_job(counts, observation.statistics),
        estimate_seconds=description.estimate,
        mean_task_seconds=observation.statistics.mean_task_seconds,
        requested=observation.requested,
        containers=ContainerCounts(
            starting=observation.containers(ContainerState.STARTING),
            idle=observation.containers(ContainerState.IDLE),
            busy=observation.containers(ContainerState.BUSY),
            draining=observation.containers(ContainerState.DRAINING),
        ),
        measured=replace(observation.measured, start_seconds=state.starts.mean_seconds),
        history=observation.history,
        running_seconds=tuple(_running_seconds(one, now) for one in (*running, *draining)),
        draining_running=len(draining),
        starting_seconds=state.starts.starting_seconds(now),
        most_attempts=1 if description.on_failure.action == "cancel" else description.on_failure.max_attempts,
        container_seconds=observation.statistics.container_seconds + lifetimes,
        changed_at=state.changed_at,
        margin_seconds=description.policy.margin,
        parameters=parameters_of(description, now),
        advice=advice,
        fallback=description.policy.fallback,
    )


def _older_copies(containers: tuple[ContainerStatus, ...]) -> frozenset[str]:
    """The containers whose job a younger copy runs, too: a job counts once, and its copy is likely to end first."""
    holders = sorted((one for one in containers if one.job is not None), key=lambda one: one.busy_since or 0.0)
    youngest = {one.job: one.id for one in holders}
    return frozenset(one.id for one in holders if youngest[one.job] != one.id)


def _running_seconds(container: ContainerStatus, now: float) -> float:
    return 0.0 if container.busy_since is None else max(0.0, now - container.busy_since)


def policy_request(state: ControllerState, observation: Observation, record: ExperimentRecord) -> dict[str, Any]:
    """The body of a request to a policy service; ``docs/policies.md`` describes every field."""
    situation, counts = situation_of(state, observation, record), observation.counts
    containers = situation.containers
    return {
        "experiment_id": record.id,
        "now": situation.now,
        "deadline_at": situation.deadline_at,
        "seconds_left": situation.seconds_left,
        "minimum": situation.minimum,
        "maximum": situation.maximum,
        "jobs": {**counts.model_dump(), "left": counts.left, "total": counts.total},
        "mean_task_seconds": situation.mean_task_seconds,
        "estimate_seconds": situation.estimate_seconds,
        "tasks_per_job": situation.tasks_per_job,
        "containers": {
            "requested": situation.requested,
            "starting": containers.starting,
            "idle": containers.idle,
            "busy": containers.busy,
            "draining": containers.draining,
        },
    }
