"""What is drawn: all that is known of an experiment, or of the cluster, at one moment."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Failure:
    """An attempt that did not accomplish its job."""

    job: str
    attempt: int
    ended_at: float
    how: str
    """``exit code 3``, ``signal 9``, ``timed out`` …"""
    reason: str = ""
    words: tuple[str, ...] = ()
    """The last lines it wrote to stderr."""


@dataclass(frozen=True)
class Look:
    """An experiment, and what its users ask next about it."""

    experiment: dict[str, Any]
    """As the API describes it."""
    decision: dict[str, Any] | None = None
    """The last one."""
    failures: tuple[Failure, ...] = ()
    """The latest, newest first."""
    busy_on: Mapping[str, int] = field(default_factory=dict)
    """Running jobs by node."""
    trouble: str = ""
    """Why nothing newer is known; else empty."""


@dataclass(frozen=True)
class Cluster:
    """The cluster as one manager knows it."""

    url: str
    at: float
    """When it was looked at."""
    store_problem: str | None = None
    """Why the store does not answer; empty where it does, None where nobody could say, as below."""
    broker_up: bool | None = None
    nodes: tuple[dict[str, Any], ...] = ()
    containers_on: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    """Containers by state, by node, where that is known."""
    experiments: tuple[dict[str, Any], ...] = ()
    """Those that have not ended, newest first: as in the list, or all that is known where they run."""
    total: int = 0
    """How many have not ended, whether they are among these or not."""
    trouble: str = ""
    """Why what is shown may be out of date; else empty."""
