"""The life of a job and of an experiment: states, and which may follow which.

Job::

            claim              all tasks ended with 0
    queued ──────► running ─────────────────────────► accomplished
      ▲  │           │ │  attempts used up
      │  │           │ └────────────────────────────► failed ──retry──► queued
      │  │           │  failed and re-queued, lease lost, container drained by force
      └──┼───────────┘
         └── cancelled by the user (also from running) ─► cancelled

Experiment::

    receiving ──► running ◄──► paused
                     │ every job is terminal
                     ▼
                 finishing (the post command)
                     │
                     ▼
         accomplished | failed | cancelled        failed|cancelled ──retry──► running
"""

from __future__ import annotations

from enum import StrEnum


class JobState(StrEnum):
    """Where a job is in its life."""

    QUEUED = "queued"
    RUNNING = "running"
    ACCOMPLISHED = "accomplished"
    FAILED = "failed"
    CANCELLED = "cancelled"

    @property
    def terminal(self) -> bool:
        """Whether the job has its outcome."""
        return self in _TERMINAL_JOBS


class ExperimentState(StrEnum):
    """Where an experiment is in its life."""

    RECEIVING = "receiving"
    RUNNING = "running"
    PAUSED = "paused"
    FINISHING = "finishing"
    ACCOMPLISHED = "accomplished"
    FAILED = "failed"
    CANCELLED = "cancelled"

    @property
    def terminal(self) -> bool:
        """Whether the experiment has ended."""
        return self in _TERMINAL_EXPERIMENTS


class AttemptOutcome(StrEnum):
    """How one attempt at a job ended."""

    ACCOMPLISHED = "accomplished"
    FAILED = "failed"
    TIMED_OUT = "timed-out"
    CANCELLED = "cancelled"
    KILLED = "killed"
    LOST = "lost"


class ContainerState(StrEnum):
    """Where a container is in its life; draining ones finish their job and take no new one."""

    STARTING = "starting"
    IDLE = "idle"
    BUSY = "busy"
    DRAINING = "draining"


class Phase(StrEnum):
    """Before and after the first accomplished job (paper §V-A)."""

    INITIAL = "initial"
    MONITORED = "monitored"


_TERMINAL_JOBS = frozenset({JobState.ACCOMPLISHED, JobState.FAILED, JobState.CANCELLED})
_TERMINAL_EXPERIMENTS = frozenset({ExperimentState.ACCOMPLISHED, ExperimentState.FAILED, ExperimentState.CANCELLED})
