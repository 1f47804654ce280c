"""What the manager's shell would see of the simulated world."""

from __future__ import annotations

from jqueuer.controller import ControllerState, Observation, demand_of
from jqueuer.records import ExperimentRecord, ServiceStatus, Statistics
from jqueuer.scheduling import UNKNOWN, Demand, Node, Share, share
from jqueuer.simulation.world import World


class View:
    """Makes observations; the only one who does, so that the controller sees nothing else of the world."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._last: tuple[Observation, int] | None = None
        """What the last look saw, and how many containers were requested after it."""
        self._asked: Demand | None = None
        """What the share last worked out is the answer to."""
        self.scale_ups = 0
        self.scale_downs = 0

    def observe(self, state: ControllerState, record: ExperimentRecord) -> Observation:
        """The experiment now."""
        world, jobs = self._world, self._world.jobs
        return Observation(
            now=world.now,
            record=record,
            counts=jobs.counts(),
            statistics=self._statistics(),
            measured=jobs.measured(),
            service=self._service(),
            share=self._share(state, record),
            queue_length=jobs.waiting,
            delayed=jobs.delayed,
        )

    def looked(self, observation: Observation) -> None:
        """A look is over, its commands are carried out: what the experiment asks of the cluster is settled by it."""
        self._last = observation, self._world.service.requested or 0

    def asks_anew(self, state: ControllerState, record: ExperimentRecord) -> bool:
        """Whether it asks for something else than at the look before, so that the next look may see another share."""
        return self._demand(state, record) != self._asked

    def count_scale_action(self, *, up: bool) -> None:
        """The autoscaler has changed the requested number."""
        self.scale_ups += up
        self.scale_downs += not up

    def _statistics(self) -> Statistics:
        world, jobs = self._world, self._world.jobs
        return Statistics.model_construct(
            tasks=jobs.accomplished,
            task_seconds=jobs.job_seconds,
            tasks_defined=jobs.total,
            job_seconds=jobs.job_seconds,
            attempts=jobs.attempts,
            killed=jobs.attempts_lost,
            container_seconds=world.container_seconds,
            peak_containers=world.peak,
            scale_ups=self.scale_ups,
            scale_downs=self.scale_downs,
        )

    def _service(self) -> ServiceStatus | None:
        service = self._world.service
        if service.requested is None and not service.containers:
            return None
        return ServiceStatus.model_construct(
            requested=service.requested or 0,
            containers=tuple(container.seen() for container in service.containers.values()),
            unplaced=service.short,
            problem="no suitable node (insufficient resources)" if service.short else "",
            note="",
        )

    def _share(self, state: ControllerState, record: ExperimentRecord) -> Share | None:
        """How much of the cluster it may have; None where there is room for all it could ask for."""
        nodes = self._world.service.nodes
        room = sum(node.slots for node in nodes if node.present)
        draining = sum(container.draining for container in self._world.service.containers.values())
        if room >= record.description.containers.max + draining:
            return None
        self._asked = self._demand(state, record)
        if self._asked is None:
            return UNKNOWN
        present = (Node(name=node.name, cpu_cores=node.slots, memory_bytes=0) for node in nodes if node.present)
        return share(tuple(present), (self._asked,))[record.id]

    def _demand(self, state: ControllerState, record: ExperimentRecord) -> Demand | None:
        """What it asked of the cluster after the last look; None before the first."""
        if self._last is None:
            return None
        seen, requested = self._last
        return demand_of(state, seen, seen.record or record, requested)
