"""Progress of an experiment where nothing can be drawn: a line per change."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, Final

from jqueuer.cli.output import duration, percent

LINE_SECONDS: Final = 2.0
"""The least time between two lines, unless the state changed."""


class Lines:
    """One line per change, at most one every :data:`LINE_SECONDS` while the state stays."""

    def __init__(
        self, write: Callable[[str], None], clock: Callable[[], float], now: Callable[[], float] = time.time
    ) -> None:
        self._write = write
        self._clock = clock
        self._now = now
        self._last: tuple[Any, ...] = ()
        self._written_at = 0.0

    def __call__(self, experiment: dict[str, Any], trouble: str = "") -> None:
        """Look at the experiment, or at why there is nothing new of it; write a line if there is something to say."""
        now = self._clock()
        seen = (trouble, experiment["state"], experiment["problem"], experiment["jobs"], experiment["containers"])
        urgent = not self._last or seen[:3] != self._last[:3]
        if seen == self._last or (not urgent and now - self._written_at < LINE_SECONDS):
            return
        self._last, self._written_at = seen, now
        self._write(f"{trouble}; trying again" if trouble else line_of(experiment, self._now()))


def line_of(experiment: dict[str, Any], now: float) -> str:
    """Everything about the progress in one line."""
    parts = [
        experiment["state"],
        _jobs(experiment),
        f"containers {_containers(experiment)}",
        _deadline(experiment, now),
    ]
    return " · ".join(part for part in (*parts, *_remarks(experiment)) if part)


def _remarks(experiment: dict[str, Any]) -> list[str]:
    """What keeps its containers waiting."""
    found = [experiment["problem"], *(experiment["containers"].get(name, "") for name in ("waiting", "note"))]
    return [remark for remark in found if remark]


def _jobs(experiment: dict[str, Any]) -> str:
    jobs = experiment["jobs"]
    others = [f"{jobs[name]} {name}" for name in ("running", "failed", "cancelled") if jobs[name]]
    text = f"{jobs['accomplished']}/{jobs['total']} jobs"
    return f"{text} ({', '.join(others)})" if others else text


def _containers(experiment: dict[str, Any]) -> str:
    found = experiment["containers"]
    observed = [f"{found['busy']} busy", f"{found['running'] - found['busy']} idle"]
    observed += [f"{found[name]} {name}" for name in ("starting", "draining") if found[name]]
    return f"{found['requested']} requested of {found['maximum']}: {', '.join(observed)}"


def _deadline(experiment: dict[str, Any], now: float) -> str:
    parts, left = [], experiment["seconds_left"]
    if left is not None:
        parts.append(f"{duration(left)} left" if left >= 0 else f"{duration(-left)} after the deadline")
    if (forecast := experiment["forecast"]) is not None:
        p50, p95 = (duration(max(0.0, forecast[name] - now)) for name in ("finish_at", "p95_at"))
        parts.append(f"forecast: ends in {p50} (P95 {p95})")
        if forecast["probability"] is not None:
            parts.append(f"{percent(forecast['probability'])} in time")
    return ", ".join(parts)
