"""What the experiment controller sees, and what it remembers between two looks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from cautoscaler import Advice, Basis, CoherenceIndex, Decision, Durations, Measured, Verdict
from cautoscaler.coherence import NO_ROW
from cautoscaler.measured import NO_DURATIONS, NOTHING_MEASURED
from jqueuer.controller.starts import NOTHING_STARTED, Starts
from jqueuer.controller.watch import NOTHING_TO_WATCH, Watch
from jqueuer.records import Counts, ExperimentRecord, ServiceStatus, Statistics
from jqueuer.scheduling import Share
from jqueuer.states import ContainerState, JobState


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    """One look at an experiment; its parts need not be of exactly the same instant."""

    now: float
    """The store's clock, seconds since the epoch."""
    record: ExperimentRecord | None
    """None once the experiment was deleted."""
    counts: Counts = field(default_factory=Counts)
    statistics: Statistics = field(default_factory=Statistics)
    measured: Measured = NOTHING_MEASURED
    """Without the start delay, which the controller measures itself."""
    history: Durations = NO_DURATIONS
    """Durations of the jobs of earlier experiments of the same kind."""
    service: ServiceStatus | None = None
    engine_problem: str = ""
    """Why the service cannot be seen: then nothing is known of it, not even whether it is there."""
    share: Share | None = None
    """How much of the cluster it may have; None where nothing limits it."""
    queue_length: int = 0
    queue_problem: str = ""
    """Why the broker cannot be used: then its queue's length is not known, and nothing can be published."""
    patience_seconds: float = 30.0
    """So long jobs may wait in front of idle containers, and nobody take one, before that is repaired."""
    jobs_per_node: int = 256
    """More a node does not run at once: containers beyond it idle, and nothing is wrong with them."""
    others_at_work: Mapping[str, int] = field(default_factory=dict)
    """By node: containers of other experiments that do not idle."""
    delayed: int = 0
    """Queued jobs whose back-off has not ended. Too low a number costs an idle republication now and then."""
    hedgeable: frozenset[str] = frozenset()
    """Running jobs of which a second copy may be started; not looked up where there is no use for one."""
    post: JobState | None = None
    """The post command's state; None while it was not queued."""
    post_problem: str = ""
    """Why the post command's last attempt failed, in words."""
    advice: Advice | None = None
    """The policy service's answer to the last :class:`~jqueuer.controller.AskPolicy`, once."""

    @property
    def requested(self) -> int:
        """Containers asked for; 0 without a service."""
        return 0 if self.service is None else self.service.requested

    def containers(self, *states: ContainerState) -> int:
        """Observed containers in these states, or in any."""
        return 0 if self.service is None else self.service.count(*(states or ContainerState))

    @property
    def somebody_waits_for_jobs(self) -> bool:
        """Whether an empty queue keeps a container from working: one is idle, or none is busy."""
        return self.containers(ContainerState.IDLE) > 0 or self.containers(ContainerState.BUSY) == 0


@dataclass(frozen=True, slots=True)
class ControllerState:
    """The controller's memory. All of it can be lost at any time: a fresh one takes over what it finds running."""

    coherence: CoherenceIndex = NO_ROW
    decision: Decision | None = None
    """The last one, while there is something to decide; its ``clamped`` is the number of containers *wanted*."""
    calculated_at: float | None = None
    changed_at: float | None = None
    """When a decision last asked for another number; the first one is no change."""
    asked_at: float | None = None
    """When the policy service was asked, while its answer is outstanding."""
    created_at: float | None = None
    """When the service was last created by this controller."""
    released_at: float | None = None
    """When service and queue were last given up."""
    starved_since: float | None = None
    """Since when somebody waits in front of an empty queue although something is queued."""
    republished_at: float | None = None
    noted: tuple[Verdict, Basis, int] | None = None
    """What the last decision in the journal was like; the same again is not worth an entry."""
    hedged: frozenset[str] = frozenset()
    """Running jobs of which a second copy was asked for."""
    problems_told: tuple[tuple[str, float], ...] = ()
    """The orchestrator's complaints, without their numbers, and when the journal told them."""
    wanted: int | None = None
    """What would be requested if there were room; None where just that is requested."""
    undone: bool = False
    """The last decision acts, but how much of it there is room for is not known yet."""
    limit_told: tuple[int, int, str] | None = None
    """Requested, wanted and why, as the journal last told it while there was not room for all."""
    unplaced_since: float | None = None
    placeable: int | None = None
    """So many containers the orchestrator finds nodes for; None where it refused none."""
    refusal: str = ""
    refused_at: float = 0.0
    """When more than are placeable were last tried, or refused."""
    starts: Starts = NOTHING_STARTED
    watch: Watch = NOTHING_TO_WATCH

    def at_rest(self) -> ControllerState:
        """The state while nothing is scaled: the next calculation is made at once, from a new row."""
        return ControllerState(
            created_at=self.created_at,
            released_at=self.released_at,
            republished_at=self.republished_at,
            problems_told=self.problems_told,
            starts=self.starts,
        )
