"""The jobs of a simulated experiment: job queue, ledger and sums. Numbers in arrays; no object per job."""

from __future__ import annotations

from array import array
from collections import Counter, deque

from cautoscaler.measured import Bucket, Concurrency, Durations, Measured, bucket_of
from jqueuer.model import FailurePolicy
from jqueuer.records import Counts

NONE = -1
"""Stands for "no job"."""
MAX_LOST_ATTEMPTS = 5
"""A job that loses its container so often fails, as in the real ledger."""

_EMPTY = Bucket(0, 0.0)


class Jobs:
    """Which jobs wait, run and are done; and what was measured of them."""

    __slots__ = (
        "_after",
        "_again",
        "_buckets",
        "_failing",
        "_failures",
        "_lost",
        "_on_failure",
        "accomplished",
        "attempts",
        "attempts_lost",
        "cancelled",
        "concurrency",
        "delayed",
        "failed",
        "fresh",
        "job_seconds",
        "published",
        "running",
        "total",
        "unstarted",
        "unsuccessful",
        "unsuccessful_seconds",
        "works",
    )

    def __init__(self, works: array[float], failing: bytes | None, on_failure: FailurePolicy) -> None:
        self.works = works
        self.total = len(works)
        self._failing = failing
        self._on_failure = on_failure
        self._failures = Counter[int]()
        self._lost = Counter[int]()
        self._again = deque[int]()
        self._after = deque[int]()
        self.published = 0
        self.unstarted = 0
        """The first job that never ran; all after it never did either."""
        self.running = 0
        self.delayed = 0
        """Queued, but not handed out yet: the back-off or the next look is awaited."""
        self.accomplished = self.failed = self.cancelled = 0
        self.attempts = self.attempts_lost = 0
        self.unsuccessful, self.unsuccessful_seconds = 0, 0.0
        self.job_seconds = 0.0
        """Of the accomplished attempts."""
        self.concurrency = dict[int, tuple[int, float]]()
        """Accomplished attempts and their seconds by the containers that were busy meanwhile."""
        self.fresh = list[float]()
        """Durations of accomplished attempts that are not in the histogram yet."""
        self._buckets = dict[int, Bucket]()

    @property
    def waiting(self) -> int:
        """Messages in the job queue."""
        return self.published - self.unstarted + len(self._again) + len(self._after)

    @property
    def left(self) -> int:
        """Jobs without an outcome."""
        return self.total - self.accomplished - self.failed - self.cancelled

    @property
    def streaming(self) -> bool:
        """Whether the next attempt is the first one of the next job, and none can fail: the usual case, made fast."""
        return self.unstarted < self.published and not self._again and self._failing is None

    def take(self) -> int:
        """The next job in the queue begins an attempt; :data:`NONE` where none waits."""
        if self._again:
            job = self._again.popleft()
        elif self.unstarted < self.published:
            job = self.unstarted
            self.unstarted += 1
        elif self._after:
            job = self._after.popleft()
        else:
            return NONE
        self.running += 1
        self.attempts += 1
        return job

    def end(self, job: int, seconds: float, busy: int) -> bool:
        """An attempt has ended, accomplished or failed; True if the job waits for another one."""
        self.running -= 1
        if self._failing is not None and self._failures[job] < self._failing[job]:
            return self._fail(job, seconds)
        self.accomplished += 1
        self.job_seconds += seconds
        self.fresh.append(seconds)
        self.count_concurrency(busy, seconds)
        return False

    def count_concurrency(self, busy: int, seconds: float, attempts: int = 1) -> None:
        """Attempts were accomplished, in so many seconds together, while so many containers were busy."""
        alike, alike_seconds = self.concurrency.get(busy, (0, 0.0))
        self.concurrency[busy] = alike + attempts, alike_seconds + seconds

    def lose(self, job: int, seconds: float) -> bool:
        """An attempt has ended with its container; True if the job waits for another one."""
        self.running -= 1
        self.attempts_lost += 1
        self._count_unsuccessful(seconds)
        self._lost[job] += 1
        if self._lost[job] >= MAX_LOST_ATTEMPTS:
            self.failed += 1
            return False
        self.delayed += 1
        return True

    def kill(self, job: int, seconds: float) -> None:
        """The attempt's container was killed by our scale-down: back to the end of the queue, however often."""
        self.running -= 1
        self.attempts_lost += 1
        self._count_unsuccessful(seconds)
        self._after.append(job)

    def hand_out_again(self, job: int) -> None:
        """A job that waited for another attempt is put before all that wait for their first."""
        self.delayed -= 1
        self._again.append(job)

    def cancel_queued(self) -> None:
        """Cancel what waits in the job queue or was not published yet; what is delayed waits for its turn to be."""
        self.cancelled += self.left - self.running - self.delayed
        self.unstarted = self.published = self.total
        self._again.clear()
        self._after.clear()

    def counts(self) -> Counts:
        """Jobs by state."""
        return Counts.model_construct(
            queued=self.left - self.running,
            running=self.running,
            accomplished=self.accomplished,
            failed=self.failed,
            cancelled=self.cancelled,
        )

    def measured(self) -> Measured:
        """What is known from watching the jobs."""
        fresh = dict[int, tuple[int, float]]()
        for duration in self.fresh:
            index = bucket_of(duration)
            count, seconds = fresh.get(index, (0, 0.0))
            fresh[index] = count + 1, seconds + duration
        self.fresh.clear()
        for index, (count, seconds) in fresh.items():
            before = self._buckets.get(index, _EMPTY)
            self._buckets[index] = Bucket(before.count + count, before.seconds + seconds)
        return Measured(
            durations=Durations(tuple(self._buckets[index] for index in sorted(self._buckets))),
            concurrency=tuple(Concurrency(busy, *self.concurrency[busy]) for busy in sorted(self.concurrency)),
            unsuccessful=self.unsuccessful,
            unsuccessful_seconds=self.unsuccessful_seconds,
        )

    def _fail(self, job: int, seconds: float) -> bool:
        self._failures[job] += 1
        self._count_unsuccessful(seconds)
        if self._on_failure.action == "cancel" or self._failures[job] >= self._on_failure.max_attempts:
            self.failed += 1
            return False
        self.delayed += 1
        return True

    def _count_unsuccessful(self, seconds: float) -> None:
        self.unsuccessful += 1
        self.unsuccessful_seconds += seconds
