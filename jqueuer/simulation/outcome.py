"""What a simulated experiment came to."""

from __future__ import annotations

from dataclasses import dataclass

from jqueuer.records import JournalEntry


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """One experiment under one seed; durations in seconds, moments in seconds from its receipt."""

    policy: str
    seed: int
    finished_seconds: float
    deadline_seconds: float | None
    container_seconds: float
    """Paid for: from asking for each container, once it has a node, until it ends."""
    job_seconds: float
    """Of all attempts, also the failed, lost and killed ones."""
    killed: int
    """Attempts ended by our scale-down."""
    lost: int
    """Attempts lost with their node."""
    attempts: int
    accomplished: int
    failed: int
    cancelled: int
    peak_containers: int
    scale_ups: int
    scale_downs: int
    trace: tuple[tuple[float, int, int], ...] = ()
    """``(moment, requested, up)`` at every change, where asked for."""
    decisions: tuple[JournalEntry, ...] = ()
    """The journal, where asked for."""

    @property
    def deadline_met(self) -> bool | None:
        """Whether every job had its outcome in time and none was given up; None without a deadline."""
        if self.deadline_seconds is None:
            return None
        return self.finished_seconds <= self.deadline_seconds and not self.cancelled

    @property
    def used(self) -> float:
        """The share of the paid time in which jobs ran."""
        return self.job_seconds / self.container_seconds if self.container_seconds else 0.0

    @property
    def scale_actions(self) -> int:
        """How often the autoscaler changed the requested number."""
        return self.scale_ups + self.scale_downs

    @property
    def job_events(self) -> int:
        """Starts and ends of attempts."""
        return 2 * self.attempts
