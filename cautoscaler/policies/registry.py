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

    @abstractmethod
    def suggest(self, situation: Situation) -> Suggestion:
        """How many containers are needed now, limits aside."""

    def initial(self, situation: Situation) -> Suggestion:
        """How many the service should start with."""
        return self.suggest(situation)

    def coherence(self, situation: Situation) -> CoherenceRule:
        """How many suggestions must agree before one is followed."""
        return AT_ONCE

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
