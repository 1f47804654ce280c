"""Whether somebody is to be told that a deadline is at risk; pure.

::

              below the confidence, so many forecasts in a row; or the deadline has passed with jobs left
    untold ──────────────────────────────────────────────────────────────────────────────────────────────► told
      ▲                                                                                                     │
      └─────────── clearly safe: no more than half the doubt that the confidence leaves ◄───────────────────┘

Forecasts tremble. One bad one tells nobody: the policy is about to ask for more containers. And who was told is not
told again until it was clearly safe in between.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum
from typing import Final

from cautoscaler.wording import amount, plural

IN_A_ROW: Final = 3
"""Forecasts that have to be bad one after the other."""


@dataclass(frozen=True, slots=True)
class Risk:
    """What is remembered from one look to the next."""

    told: bool = False
    """Somebody was told, and it has not been clearly safe since."""
    doubted: int = 0
    """So many forecasts in a row were below the confidence."""


UNTOLD: Final = Risk()


class Verdict(Enum):
    """What is to be done."""

    NOTHING = "nothing"
    TELL = "tell"
    SAFE = "safe"
    """It is clearly safe again: forget that somebody was told."""


def judge(
    risk: Risk,
    *,
    left_seconds: float,
    jobs_left: int,
    probability: float | None,
    confidence: float,
    late_by_seconds: float | None = None,
) -> tuple[Risk, Verdict, str]:
    """What is remembered now, what is to be done, and why in words.

    ``left_seconds`` is the time to the deadline, negative where it has passed; ``probability`` that of a new forecast
    to meet it, None where nothing new was forecast; ``late_by_seconds`` by how much that forecast expects to miss it
    (negative: to be early).
    """
    if jobs_left <= 0:
        return replace(risk, doubted=0), Verdict.NOTHING, ""
    if left_seconds <= 0:
        if risk.told:
            return risk, Verdict.NOTHING, ""
        return Risk(told=True), Verdict.TELL, f"the deadline has passed with {plural(jobs_left, 'job')} left"
    if probability is None:
        return risk, Verdict.NOTHING, ""
    if probability >= (1 + confidence) / 2:
        return UNTOLD, Verdict.SAFE if risk.told else Verdict.NOTHING, ""
    if probability >= confidence:
        return replace(risk, doubted=0), Verdict.NOTHING, ""
    doubted = min(risk.doubted + 1, IN_A_ROW)
    if risk.told or doubted < IN_A_ROW:
        return replace(risk, doubted=doubted), Verdict.NOTHING, ""
    return Risk(told=True, doubted=doubted), Verdict.TELL, _doubt(probability, confidence, late_by_seconds)


def _doubt(probability: float, confidence: float, late_by_seconds: float | None) -> str:
    wanted = f"{amount(100 * confidence)} % are wanted"
    reason = f"the deadline is kept with a probability of {amount(100 * probability)} %, and {wanted}"
    if late_by_seconds is None:
        return reason
    when = f"{amount(abs(late_by_seconds))} s {'after' if late_by_seconds > 0 else 'before'} it"
    return f"{reason}; the last job probably ends {when}"
