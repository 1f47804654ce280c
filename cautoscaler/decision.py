"""Suggestions and decisions: a number, and the reason for it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

Scalar = str | int | float | bool | None


class Basis(StrEnum):
    """What a suggestion rests on."""

    INITIAL = "initial phase"
    MONITORED = "monitored phase"
    FORECAST = "forecast"
    LATE = "past the deadline"
    NO_DEADLINE = "no deadline"
    NO_JOBS_LEFT = "no jobs left"
    FIXED = "fixed"
    QUEUE = "queue length"
    TARGET = "target duration"
    BUDGET = "budget"
    SCHEDULE = "schedule"
    SERVICE = "policy service"
    FALLBACK = "fall-back"


@dataclass(frozen=True, slots=True)
class Suggestion:
    """What a policy thinks is needed, before anybody limits it."""

    needed: int
    basis: Basis
    reason: str
    inputs: Mapping[str, Scalar] = field(default_factory=dict)


class Verdict(StrEnum):
    """What is to be done."""

    START = "start"
    """Create the service with this many containers."""
    SCALE_UP = "scale-up"
    SCALE_DOWN = "scale-down"
    HOLD = "hold"
    """The number requested is the right one."""
    CONFIRM = "confirm"
    """Another number is suggested, but not often enough in a row yet."""
    COOL_DOWN = "cool-down"
    """Another number is suggested, but the last change is too recent."""
    WAIT = "wait"
    """No container runs yet, so nothing can be judged."""

    @property
    def acts(self) -> bool:
        """Whether the number of containers changes."""
        return self in (Verdict.START, Verdict.SCALE_UP, Verdict.SCALE_DOWN)


@dataclass(frozen=True, slots=True)
class Decision:
    """What is to be done, what it rests on, and why."""

    verdict: Verdict
    needed: int
    """What the policy suggested."""
    clamped: int
    """The same within the limits."""
    target: int
    """What should be requested from now on; what is requested already unless the verdict acts."""
    basis: Basis
    reason: str
    inputs: Mapping[str, Scalar] = field(default_factory=dict)
