"""What the experiment controller wants done; each is idempotent, so that a repeated one does no harm."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from jqueuer.records import JournalEntry
from jqueuer.states import ExperimentState


@dataclass(frozen=True, slots=True)
class CreateService:
    """Create the experiment service with this many containers."""

    containers: int
    reason: str


@dataclass(frozen=True, slots=True)
class ScaleService:
    """Request another number of containers."""

    containers: int
    from_: int
    """What was requested before."""
    reason: str
    by_autoscaler: bool = True
    """False where pausing or ending, not a policy, asked for it; only the autoscaler's are counted as scale actions."""


@dataclass(frozen=True, slots=True)
class DestroyService:
    """Remove the experiment service; busy containers drain."""

    reason: str


@dataclass(frozen=True, slots=True)
class PublishNext:
    """Hand jobs to the job queue for the first time: those at ``start`` … ``start + count - 1``, in order."""

    start: int
    count: int
    reason: str


@dataclass(frozen=True, slots=True)
class RepublishQueued:
    """Rebuild the job queue from the jobs that are queued and due: their messages are gone."""

    reason: str
    emptied: bool = False
    """What is still in the queue is thrown away before: messages are only ids."""


@dataclass(frozen=True, slots=True)
class ReplaceContainers:
    """End these containers, which hold no job and take none; others are started in their place."""

    container_ids: tuple[str, ...]
    reason: str


@dataclass(frozen=True, slots=True)
class CancelQueued:
    """Cancel the jobs that wait; those that run go on."""

    reason: str


@dataclass(frozen=True, slots=True)
class Hedge:
    """Let a second container run a running job, too; the journal tells it unless the job has ended meanwhile."""

    job_id: str
    entry: JournalEntry

    @property
    def reason(self) -> str:
        """Why this job, and now."""
        return self.entry.reason


@dataclass(frozen=True, slots=True)
class QueuePost:
    """Add the post command unless it is there, and publish its message in any case."""

    reason: str


@dataclass(frozen=True, slots=True)
class DeleteQueue:
    """Remove the job queue with whatever is in it."""

    reason: str


@dataclass(frozen=True, slots=True)
class MoveTo:
    """Change the experiment's state, unless it has left the expected ones meanwhile."""

    state: ExperimentState
    expected: tuple[ExperimentState, ...]
    reason: str


@dataclass(frozen=True, slots=True)
class Finish:
    """End the experiment with this outcome, unless it has left the expected states meanwhile."""

    state: ExperimentState
    expected: tuple[ExperimentState, ...]
    reason: str


@dataclass(frozen=True, slots=True)
class Settle:
    """Nothing of the experiment runs any more: the controller can be dropped."""

    reason: str


@dataclass(frozen=True, slots=True)
class AskPolicy:
    """Ask the policy service, without waiting for it here; its answer belongs into a later observation."""

    url: str
    timeout_seconds: float
    reason: str
    request: dict[str, Any] = field(default_factory=dict)
    """The request's body, as ``docs/policies.md`` describes it."""


@dataclass(frozen=True, slots=True)
class Journal:
    """Append a decision to the experiment's journal; its reason is the entry's."""

    entry: JournalEntry

    @property
    def reason(self) -> str:
        """Why the decision was taken."""
        return self.entry.reason


Command = (
    CreateService
    | ScaleService
    | DestroyService
    | PublishNext
    | RepublishQueued
    | ReplaceContainers
    | CancelQueued
    | Hedge
    | QueuePost
    | DeleteQueue
    | MoveTo
    | Finish
    | Settle
    | AskPolicy
    | Journal
)
Commands = tuple[Command, ...]
