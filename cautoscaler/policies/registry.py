"""What a policy is, and the register in which it is found by name."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar, TypeVar

from cautoscaler.coherence import AT_ONCE, CoherenceRule
from cautoscaler.decision import Suggestion
from cautoscaler.situation import Situation

SHORTEST_PERIOD_SECONDS = 1.0
LONGEST_PERIOD_SECONDS = 30.0


class UnknownPolicyError(LookupError):
    """There is no policy of this name."""


class Policy(ABC):
    """Suggests how many containers an experiment needs; holds no state, so one instance serves all experiments."""

    name: ClassVar[str]
    summary: ClassVar[str]
    """One line for people who choose among policies."""
    minimum_at_start: ClassVar[bool] = True
    """Whether the first number respects the minimum."""
    bounded_by_jobs: ClassVar[bool] = True
    """Whether a number above the jobs left is reduced to them."""
    cools_down: ClassVar[bool] = False
    """Whether it waits after a change: for policies whose numbers flutter."""
    up_cooldown_seconds: ClassVar[float] = 0.0
    """So long after a change it scales nothing up, where the description does not say how long."""
    down_cooldown_seconds: ClassVar[float] = 0.0
    """The same for scaling down."""
    reads: ClassVar[frozenset[str]] = frozenset()
    """The keys of the description's ``policy`` that it reads, besides those every policy has; others are noted."""
    needs: ClassVar[str] = ""
    """The one of them without which it can decide nothing; a description without it is refused."""

    @abstractmethod
    def suggest(self, situation: Situation) -> Suggestion:
        """How many containers are needed now, limits aside."""

    def initial(self, situation: Situation) -> Suggestion:
        """How many the service should start with."""
        return self.suggest(situation)

    def coherence(self, situation: Situation) -> CoherenceRule:
        """How many suggestions must agree before one is followed."""
        return AT_ONCE

    def cooldown_seconds(self, situation: Situation, *, up: bool) -> float:
        """How long after a change it scales nothing up, or down: what the description says, or else its own."""
        if not self.cools_down:
            return 0.0
        given = situation.parameters.up_cooldown_seconds if up else situation.parameters.down_cooldown_seconds
        own = self.up_cooldown_seconds if up else self.down_cooldown_seconds
        return own if given is None else given

    def running(self, situation: Situation) -> int:
        """What this policy calls *running*; below one it does not act."""
        return situation.containers.up

    def period_seconds(self, situation: Situation) -> float:
        """Time between two calculations: a quarter of a task, between one second and half a minute."""
        return min(LONGEST_PERIOD_SECONDS, max(SHORTEST_PERIOD_SECONDS, situation.task_seconds / 4))


PolicyClass = TypeVar("PolicyClass", bound=type[Policy])

_policies: dict[str, Policy] = {}


def register(policy: PolicyClass) -> PolicyClass:
    """Make a policy known under its name; a class decorator."""
    if policy.name in _policies:
        raise ValueError(f"two policies are called {policy.name!r}")
    _policies[policy.name] = policy()
    return policy


def get(name: str) -> Policy:
    """The policy of this name; :class:`UnknownPolicyError` lists those there are."""
    try:
        return _policies[name]
    except KeyError:
        raise UnknownPolicyError(f"there is no policy {name!r}; there are {', '.join(names())}") from None


def names() -> tuple[str, ...]:
    """The names of all policies, sorted."""
    return tuple(sorted(_policies))
