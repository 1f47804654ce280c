"""One progress for all running jobs, and its speed.

Jobs that run at the same time all progress at the same speed, one over :func:`slowness`. So there is one *progress*
for all of them, the integral of the speed over time: a job ends when it has grown by the job's work. Ends are planned
in progress, and a change of speed moves none of them.
"""

from __future__ import annotations

from jqueuer.simulation.contention import Contention, slowness


class Pace:
    """How fast running jobs progress, depending on how many containers are busy."""

    __slots__ = ("_contention", "_known", "busy", "progress", "since", "slowness")

    def __init__(self, contention: Contention) -> None:
        self._contention = contention
        self._known = [1.0]
        self.busy = 0
        self.slowness = 1.0
        """One over the speed."""
        self.since = 0.0
        """The moment since which it has been that …"""
        self.progress = 0.0
        """… and the progress then."""

    def time_of(self, progress: float) -> float:
        """When the progress will have come so far, if the speed stays as it is."""
        return self.since + (progress - self.progress) * self.slowness

    def progress_at(self, now: float) -> float:
        """How far it has come at a moment that is not before the last change of speed."""
        return self.progress + (now - self.since) / self.slowness

    def change_busy(self, change: int, now: float) -> None:
        """So many containers more are busy from now on."""
        self.busy += change
        if not self._contention:
            return
        while len(self._known) <= self.busy:
            self._known.append(slowness(self._contention, len(self._known)))
        if self._known[self.busy] != self.slowness:
            self.progress, self.since = self.progress_at(now), now
            self.slowness = self._known[self.busy]
