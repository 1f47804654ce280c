"""What the faults cost, from the attempts in the store and from what the jobs themselves said outside of it.

Nothing here is measured or asked: the records are read when all is over, and every fault is known by its times and by
what it hit. All times are seconds since the epoch by one clock.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from tests.chaos.schedule import Fault

ACCOMPLISHED = "accomplished"


@dataclass(frozen=True)
class Attempt:
    """One attempt as the store has it."""

    job: str
    number: int
    container: str
    node: str
    started_at: float
    finished_at: float | None
    outcome: str | None


@dataclass(frozen=True)
class Said:
    """What jobs wrote into their file: how often each attempt, (job, number), was begun and came to its end."""

    begun: Counter[tuple[str, int]]
    ended: Counter[tuple[str, int]]


@dataclass(frozen=True)
class Hit:
    """What a fault hit: attempts there may be lost."""

    everything: bool = False
    nodes: frozenset[str] = frozenset()
    containers: frozenset[str] = frozenset()
    for_good: bool = False
    """It does not come back: who takes a job there afterwards has not noticed yet."""

    def holds(self, attempt: Attempt) -> bool:
        """Whether the attempt was there."""
        return self.everything or attempt.node in self.nodes or attempt.container in self.containers


@dataclass(frozen=True)
class Injection:
    """A fault that was brought about."""

    fault: Fault
    target: str
    hit: Hit
    began_at: float
    ended_at: float
    """When the last that it broke was broken, or was given back where the fault lasts a while."""
    whole_seconds: float | None
    """From its beginning until all was there again and work went on; None where that was not waited for any longer."""
    after_jobs: int
    """So many were accomplished before."""
    waited_for: str = ""
    """What came last, or never."""

    def spares_all(self, lease_seconds: float) -> bool:
        """Whether no attempt may be lost by it, though some were in flight."""
        return self.fault.kind.sparing and self.ended_at - self.began_at < lease_seconds

    def in_flight(self, attempts: Iterable[Attempt]) -> list[Attempt]:
        """The attempts that ran on what was hit from its beginning to its end, and later on what does not come back."""
        return [
            attempt
            for attempt in attempts
            if self.hit.holds(attempt)
            and (self.hit.for_good or attempt.started_at <= self.ended_at)
            and (attempt.finished_at is None or attempt.finished_at >= self.began_at)
        ]


@dataclass(frozen=True)
class Cost:
    """What one fault cost."""

    injection: Injection
    in_flight: int
    allowed: int
    lost: int
    """Attempts lost there, of which no later fault can have been the cause."""
    resumed_seconds: float | None
    """From its beginning to the end of the first job claimed after it and accomplished."""


@dataclass(frozen=True)
class Account:
    """The whole of it."""

    jobs: int
    lost: tuple[str, ...]
    """Jobs without an outcome, or with one that nobody saw come about."""
    doubled: tuple[str, ...]
    """Jobs with two outcomes, and attempts that were run twice."""
    extra_attempts: int
    allowed_extra_attempts: int
    unexplained: tuple[Attempt, ...]
    """Attempts that were lost without having been in flight on what a fault hit."""
    costs: tuple[Cost, ...]

    @property
    def sound(self) -> bool:
        """Whether everything is as promised."""
        bounded = self.extra_attempts <= self.allowed_extra_attempts
        return bounded and not (self.lost or self.doubled or self.unexplained)


def account(
    states: Mapping[str, str],
    attempts: Sequence[Attempt],
    said: Said,
    injections: Sequence[Injection],
    lease_seconds: float,
) -> Account:
    """Add it up; `states` has every job's last state."""
    accomplished = [attempt for attempt in attempts if attempt.outcome == ACCOMPLISHED]
    vain = [attempt for attempt in attempts if attempt.outcome != ACCOMPLISHED]
    causes = {attempt: _cause(attempt, injections, lease_seconds) for attempt in vain}
    costs = tuple(
        Cost(
            injection=injection,
            in_flight=len(injection.in_flight(attempts)),
            allowed=0 if injection.spares_all(lease_seconds) else len(injection.in_flight(attempts)),
            lost=sum(cause is injection for cause in causes.values()),
            resumed_seconds=_resumed_seconds(injection, accomplished),
        )
        for injection in injections
    )
    return Account(
        jobs=len(states),
        lost=tuple(sorted(_lost(states, accomplished, said))),
        doubled=tuple(sorted(_doubled(accomplished, said))),
        extra_attempts=len(attempts) - len({attempt.job for attempt in attempts}),
        allowed_extra_attempts=sum(cost.allowed for cost in costs),
        unexplained=tuple(attempt for attempt, cause in causes.items() if cause is None),
        costs=costs,
    )


def _cause(attempt: Attempt, injections: Sequence[Injection], lease_seconds: float) -> Injection | None:
    possible = [
        injection
        for injection in injections
        if injection.in_flight([attempt]) and not injection.spares_all(lease_seconds)
    ]
    return possible[-1] if possible else None


def _resumed_seconds(injection: Injection, accomplished: Sequence[Attempt]) -> float | None:
    later = [
        attempt.finished_at
        for attempt in accomplished
        if attempt.finished_at is not None and attempt.started_at > injection.ended_at
    ]
    return min(later) - injection.began_at if later else None


def _lost(states: Mapping[str, str], accomplished: Iterable[Attempt], said: Said) -> set[str]:
    seen = {
        attempt.job
        for attempt in accomplished
        if said.begun[attempt.job, attempt.number] and said.ended[attempt.job, attempt.number]
    }
    return {job for job, state in states.items() if state != ACCOMPLISHED or job not in seen}


def _doubled(accomplished: Iterable[Attempt], said: Said) -> set[str]:
    outcomes = Counter(attempt.job for attempt in accomplished)
    run_twice = {attempt for counter in (said.begun, said.ended) for attempt, count in counter.items() if count > 1}
    recorded_twice = {job for job, count in outcomes.items() if count > 1}
    return recorded_twice | {f"{job}, attempt {number}" for job, number in run_twice}
