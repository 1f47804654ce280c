"""What a sharing policy is, and the register in which it is found by name."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar, TypeVar

from jqueuer.scheduling.demand import Demand


class SharingPolicy(ABC):
    """Says which of two experiments goes first where there is not room for both; holds no state."""

    name: ClassVar[str]

    @abstractmethod
    def rank(self, demand: Demand) -> Any:
        """A sort key, the same for no two experiments: the lesser goes first."""

    @abstractmethod
    def why(self, first: Demand, second: Demand) -> str:
        """Why the first goes before the second, in words to stand in brackets behind its name."""


PolicyClass = TypeVar("PolicyClass", bound=type[SharingPolicy])

_policies: dict[str, SharingPolicy] = {}


def register(policy: PolicyClass) -> PolicyClass:
    """Make a policy known under its name; a class decorator."""
    if policy.name in _policies:
        raise ValueError(f"two sharing policies are called {policy.name!r}")
    _policies[policy.name] = policy()
    return policy


def get(name: str) -> SharingPolicy:
    """The policy of this name; :class:`LookupError` lists those there are."""
    try:
        return _policies[name]
    except KeyError:
        raise LookupError(f"there is no sharing policy {name!r}; there are {', '.join(sorted(_policies))}") from None
