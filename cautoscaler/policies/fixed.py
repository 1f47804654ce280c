"""``fixed``: always the same number."""

from __future__ import annotations

from typing import ClassVar

from cautoscaler.decision import Basis, Suggestion
from cautoscaler.policies.registry import Policy, register
from cautoscaler.situation import Situation
from cautoscaler.wording import plural


@register
class Fixed(Policy):
    """The number the description gives (``policy: {name: fixed, containers: 4}``), or the maximum."""

    name: ClassVar[str] = "fixed"
    summary: ClassVar[str] = "Always the given number of containers, deadline or not; the maximum where none is given."
    reads: ClassVar[frozenset[str]] = frozenset({"containers"})

    def suggest(self, situation: Situation) -> Suggestion:
        """The given number."""
        given = situation.parameters.containers
        if given is None:
            return Suggestion(situation.maximum, Basis.FIXED, "no number is given, so the maximum is used")
        return Suggestion(given, Basis.FIXED, f"{plural(given, 'container')} as the description says")
