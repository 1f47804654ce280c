"""What a policy sees: one moment of one experiment, as plain numbers."""

from __future__ import annotations

from dataclasses import dataclass

from cautoscaler.advice import Advice
from cautoscaler.measured import NO_DURATIONS, NOTHING_MEASURED, Durations, Measured
from cautoscaler.parameters import DEFAULTS, Parameters


@dataclass(frozen=True, slots=True)
class ContainerCounts:
    """The observed containers of an experiment service, by what they do."""

    starting: int = 0
    idle: int = 0
    busy: int = 0
    draining: int = 0

    @property
    def up(self) -> int:
        """Containers that run, whatever they do."""
        return self.idle + self.busy + self.draining


@dataclass(frozen=True, slots=True, kw_only=True)
class Situation:
    """One moment of an experiment; times are seconds since the epoch, durations seconds."""

    now: float
    started_at: float
    """When the experiment was received."""
    deadline_at: float | None = None
    minimum: int = 1
    maximum: int
    jobs_total: int
    jobs_left: int
    """Jobs without an outcome; running ones count."""
    jobs_accomplished: int = 0
    tasks_per_job: int = 1
    """Rounded up."""
    estimate_seconds: float
    """The user's estimate of one task."""
    mean_task_seconds: float | None = None
    """The mean over all tasks executed so far, if any was."""
    requested: int = 0
    """Containers asked for, as opposed to the observed ones."""
    short_of_room: bool = False
    """There was not room for all of ``requested``; fewer are asked for until there is."""
    containers: ContainerCounts = ContainerCounts()
    measured: Measured = NOTHING_MEASURED
    history: Durations = NO_DURATIONS
    """Durations of jobs of earlier experiments of the same kind: what is known before the first job has ended."""
    running_seconds: tuple[float, ...] = ()
    """How long each running job has been running."""
    draining_running: int = 0
    """How many of these, the last in the row, run in containers that drain."""
    starting_seconds: tuple[float, ...] = ()
    """How long ago each container was asked for that is not up yet."""
    most_attempts: int = 1_000
    """So often a job that fails is run in all."""
    container_seconds: float = 0.0
    """Paid for so far: lifetimes of all containers, the present ones until now."""
    changed_at: float | None = None
    """When the requested number last changed, if it did since the start."""
    margin_seconds: float = 0.0
    """How long before its deadline the experiment should end."""
    parameters: Parameters = DEFAULTS
    """What the description says to its policy."""
    advice: Advice | None = None
    fallback: str = "deadline-forecast"
    """The policy that decides while the policy service does not."""

    @property
    def monitored(self) -> bool:
        """Whether the monitored phase has begun: a job is accomplished and its duration known (paper §V-A)."""
        return self.jobs_accomplished > 0 and self.mean_task_seconds is not None

    @property
    def task_seconds(self) -> float:
        """What one task takes: the user's estimate in the initial phase, the measured mean afterwards."""
        if self.mean_task_seconds is not None and self.monitored:
            return self.mean_task_seconds
        return self.estimate_seconds

    @property
    def elapsed_seconds(self) -> float:
        """Time since the experiment was received."""
        return max(0.0, self.now - self.started_at)

    @property
    def seconds_left(self) -> float | None:
        """Time until the deadline, less the margin; zero or negative once it has passed, None without a deadline."""
        return None if self.deadline_at is None else self.deadline_at - self.now - self.margin_seconds
