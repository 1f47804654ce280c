"""A scenario: an experiment, how long its jobs take, and the cluster it meets; ``docs`` of every key are its fields."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from jqueuer.kinds import WholeNumber
from jqueuer.model import Experiment, Frozen, PositiveDuration
from jqueuer.simulation.contention import Contention
from jqueuer.simulation.distributions import Distribution
from jqueuer.units import Duration

ScaleDown = Literal["drain", "kill"]

AT_ONCE = Distribution(constant=0.0)


class Cluster(Frozen):
    """The nodes, and how containers come and go on them."""

    nodes: WholeNumber = Field(default=1, ge=1, le=10_000)
    slots: WholeNumber | None = Field(default=None, ge=1, le=10_000)
    """Containers a node has room for; without a number they never run out."""
    start_delay: Distribution = AT_ONCE
    """From asking for a container until it takes its first job, the image being there; one draw per container."""
    image_pull: Distribution = AT_ONCE
    """How much longer the first one on a node takes; others on that node wait for the same pull. One draw per node."""
    first_start: Duration = 0.0
    """No container takes a job before, counted from the receipt."""
    scale_down: ScaleDown = "drain"
    """What happens to a busy container that is given up: it finishes its job, or it is killed and its job goes to the
    end of the queue, as with Swarm in 2018."""


class NodeLoss(Frozen):
    """A node goes, and perhaps comes back; moments are counted from the receipt.

    Its jobs run again when their leases have run out, its containers are replaced where there is room.
    """

    at: Duration
    node: WholeNumber = Field(ge=1)
    """From 1 on."""
    back: Duration | None = None

    @model_validator(mode="after")
    def _back_later(self) -> NodeLoss:
        if self.back is not None and self.back <= self.at:
            raise ValueError(f"the node comes back at {self.back:g} s, before it is lost at {self.at:g} s")
        return self


class Change(Frozen):
    """What a user changes in mid-run; the moment and the new deadline are counted from the receipt."""

    at: Duration
    deadline: PositiveDuration | None = None
    minimum: WholeNumber | None = Field(default=None, ge=0)
    maximum: WholeNumber | None = Field(default=None, ge=1)


class Scenario(Frozen):
    """All that a simulation needs beside its seed."""

    name: str
    description: str = ""
    jobs: WholeNumber = Field(ge=1, le=100_000_000)
    """How many, of one task each; as many as durations are listed where the number is left out."""
    durations: Distribution
    """Of the jobs while no more containers are busy than ``contention`` lists at the least. A failed or lost attempt's
    successor takes as long as the attempt did, or would have."""
    contention: Contention = Field(default_factory=dict)
    experiment: Experiment
    """The global parameters as in a description; what is run is of no importance here."""
    cluster: Cluster = Cluster()
    failures: float = Field(default=0.0, ge=0, lt=1)
    """The chance that an attempt fails, at its end; ``experiment.on_failure`` says what follows."""
    failing: tuple[Annotated[WholeNumber, Field(ge=0, le=255)], ...] = ()
    """Instead of a chance: how many attempts of each job fail before one is accomplished, in the order of the jobs."""
    node_loss: tuple[NodeLoss, ...] = ()
    changes: tuple[Change, ...] = ()
    lease: Duration = Field(default=30.0, gt=0)
    """So long after its node was lost a job is given back to the queue."""
    look: Duration = Field(default=1.0, ge=0.01)
    """Time between two looks of the experiment controller."""
    gap: Duration = 0.0
    """Between two jobs in a container."""

    @model_validator(mode="before")
    @classmethod
    def _as_many_as_listed(cls, value: Any) -> Any:
        if isinstance(value, dict) and "jobs" not in value:
            durations = value.get("durations")
            if isinstance(durations, dict) and isinstance(durations.get("list"), list | tuple):
                return {**value, "jobs": len(durations["list"])}
        return value

    @model_validator(mode="after")
    def _can_be_simulated(self) -> Scenario:
        experiment, nodes = self.experiment, self.cluster.nodes
        if experiment.deadline is not None and not isinstance(experiment.deadline, float):
            raise ValueError("give the deadline relative to the receipt: in a simulation there is no calendar")
        if experiment.policy.url is not None:
            raise ValueError("a policy service cannot be asked in virtual time: give a policy by name")
        if experiment.container_name is not None:
            raise ValueError("the user's own service is never scaled: leave container_name out")
        if self.failing and len(self.failing) != self.jobs:
            raise ValueError(f"failing has {len(self.failing)} numbers: expected one for each of the {self.jobs} jobs")
        if self.failing and self.failures:
            raise ValueError("give the chance of failures, or the failing attempts of each job, not both")
        for loss in self.node_loss:
            if loss.node > nodes:
                raise ValueError(f"node {loss.node} is lost, but there are only {nodes}")
        return self

    @property
    def deadline_seconds(self) -> float | None:
        """The last deadline the experiment is given, from its receipt; None without any."""
        deadline = self.experiment.deadline
        seconds = deadline if isinstance(deadline, float) else None
        for change in sorted(self.changes, key=lambda change: change.at):
            seconds = seconds if change.deadline is None else change.deadline
        return seconds
