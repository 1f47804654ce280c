"""What experiments ask of the cluster, and what they get."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from jqueuer.scheduling.constraints import Constraint


@dataclass(frozen=True, slots=True, kw_only=True)
class Demand:
    """One experiment that shares the cluster; CPU in cores and memory in bytes are what each container reserves."""

    experiment_id: str
    created_at: float
    deadline_at: float | None = None
    priority: int = 0
    minimum: int
    wanted: int
    requested: int
    """What its orchestrator was asked for last; containers beyond those in place are being started."""
    cpu_cores: float = 0.0
    memory_bytes: int = 0
    constraints: tuple[Constraint, ...] = ()
    in_place: Mapping[str, int] = field(default_factory=dict)
    """Containers by node, those that are started there included, draining ones not."""
    draining: Mapping[str, int] = field(default_factory=dict)
    """Containers by node that hold their room only until their last job is done."""


@dataclass(frozen=True, slots=True)
class Share:
    """How many containers an experiment may have now."""

    containers: int
    wanted: int
    """What it wanted when the cluster was shared."""
    later: int = 0
    """More that room is held for, until what takes it has drained, or others have found their places."""
    cause: str = ""
    """Who or what takes the room of the rest."""
    placed: Mapping[str, int] = field(default_factory=dict)
    """By node where its containers are or are expected to go; empty for containers that reserve nothing."""

    def speaks_of(self, wanted: int) -> bool:
        """Whether it says how many of so many containers fit: it may have been worked out for a smaller wish."""
        return wanted <= self.wanted or self.containers < self.wanted

    def reason(self, wanted: int) -> str:
        """Why it may have fewer than it wants; empty where it may have all."""
        if wanted <= self.containers:
            return ""
        later = min(self.later, wanted - self.containers)
        fit = f"{self.containers} of {wanted} wanted fit"
        fit += f" now, {later} more as others leave or have found their places" if later else ""
        return f"{fit}: {self.cause}" if self.cause else fit


UNKNOWN = Share(containers=0, wanted=0)
"""Before the cluster was shared for the first time: speaks of no wish at all."""
