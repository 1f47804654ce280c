"""``rest``: the number a REST service answers (paper §III-A), or that of another policy while it does not."""

from __future__ import annotations

from typing import ClassVar

from cautoscaler.advice import Advice
from cautoscaler.coherence import AT_ONCE, CoherenceRule
from cautoscaler.decision import Basis, Suggestion
from cautoscaler.policies.registry import Policy, get, register
from cautoscaler.situation import Situation
from cautoscaler.wording import plural


@register
class Rest(Policy):
    """Turns the answer that lies in the situation into a suggestion; asking is the caller's part."""

    name: ClassVar[str] = "rest"
    reads: ClassVar[frozenset[str]] = frozenset({"margin", "url", "timeout", "fallback"})
    summary: ClassVar[str] = "What the policy service at policy.url answers; policy.fallback while it does not."

    def suggest(self, situation: Situation) -> Suggestion:
        """The service's number, or the fall-back's with the reason for falling back."""
        advice = situation.advice or Advice(error="it was not asked")
        if advice.containers is not None:
            said = f": {advice.reason}" if advice.reason else ""
            reason = f"the policy service answered {plural(advice.containers, 'container')}{said}"
            return Suggestion(advice.containers, Basis.SERVICE, reason)
        fallback = _fallback(situation)
        instead = fallback.suggest(situation)
        reason = f"the policy service gave no number ({advice.error}), so {fallback.name} decides: {instead.reason}"
        return Suggestion(instead.needed, Basis.FALLBACK, reason, instead.inputs)

    def coherence(self, situation: Situation) -> CoherenceRule:
        """The service's answers are followed at once, the fall-back's by its own rule."""
        return AT_ONCE if _answered(situation) else _fallback(situation).coherence(situation)

    def cooldown_seconds(self, situation: Situation, *, up: bool) -> float:
        """Nothing waits after the service's answers; after the fall-back's what waits after those."""
        return 0.0 if _answered(situation) else _fallback(situation).cooldown_seconds(situation, up=up)


def _answered(situation: Situation) -> bool:
    return situation.advice is not None and situation.advice.containers is not None


def _fallback(situation: Situation) -> Policy:
    # a policy service that stands in for itself would never come to an end
    return get("deadline-forecast" if situation.fallback == Rest.name else situation.fallback)
