"""The job queue as one experiment's shell uses it: what the broker refused is remembered, and not asked again at once.

A broker that is away, or holds publishers up because it is short of memory or disk, costs seconds at each attempt; the
containers, the policy and the end of the experiment can be looked after meanwhile.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from typing import Final, TypeVar

from jqueuer.errors import StoreUnavailableError
from jqueuer.ports import JobQueue

AGAIN_SECONDS: Final = 3.0

_Result = TypeVar("_Result")


class WatchedQueue:
    """A :class:`~jqueuer.ports.JobQueue` that does not try again before its time; used by one thread at a time."""

    def __init__(self, queue: JobQueue, steady: Callable[[], float] = time.monotonic) -> None:
        self._queue = queue
        self._steady = steady
        self._problem = ""
        self._not_before = 0.0

    @property
    def refused(self) -> bool:
        """Whether the last that was asked of the broker failed."""
        return bool(self._problem)

    def publish(self, experiment_id: str, job_ids: Iterable[str], *, again: bool = False) -> int:
        """Put messages into the queue."""
        return self._try(lambda: self._queue.publish(experiment_id, job_ids, again=again))

    def length(self, experiment_id: str) -> int:
        """Messages waiting."""
        return self._try(lambda: self._queue.length(experiment_id))

    def look(self, experiment_id: str) -> tuple[int, str]:
        """Messages waiting, and why that is not known, in words."""
        try:
            return self.length(experiment_id), ""
        except StoreUnavailableError as error:
            return 0, str(error)

    def purge(self, experiment_id: str) -> None:
        """Throw away the messages that wait."""
        self._try(lambda: self._queue.purge(experiment_id))

    def delete(self, experiment_id: str) -> None:
        """Remove the queue."""
        self._try(lambda: self._queue.delete(experiment_id))

    def _try(self, act: Callable[[], _Result]) -> _Result:
        if self._problem and self._steady() < self._not_before:
            raise StoreUnavailableError(self._problem)
        try:
            result = act()
        except StoreUnavailableError as error:
            self._problem, self._not_before = str(error), self._steady() + AGAIN_SECONDS
            raise
        self._problem = ""
        return result
