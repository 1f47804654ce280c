"""CAutoScaler: how many containers an experiment needs, decided without doing any I/O.

:func:`initial` says how many to start with, :func:`step` what follows from one calculation, :func:`period_seconds`
when to calculate again. ``docs/policies.md`` tells the policies apart.
"""

from __future__ import annotations

from cautoscaler.advice import MAX_ANSWER_BYTES, Advice, read_advice
from cautoscaler.autoscaler import AutoscalerState, initial, period_seconds, step
from cautoscaler.calculator import calculate, need
from cautoscaler.clamp import Clamped, clamp
from cautoscaler.coherence import AT_ONCE, CODE_2018, PAPER, CoherenceIndex, CoherenceRule, Direction, advance
from cautoscaler.decision import Basis, Decision, Suggestion, Verdict
from cautoscaler.measured import Bucket, Concurrency, Durations, Measured
from cautoscaler.parameters import DEFAULTS, OnConflict, Parameters, Window
from cautoscaler.policies import Policy, UnknownPolicyError, get, names, register
from cautoscaler.situation import ContainerCounts, Situation

__all__ = [
    "AT_ONCE",
    "CODE_2018",
    "DEFAULTS",
    "MAX_ANSWER_BYTES",
    "PAPER",
    "Advice",
    "AutoscalerState",
    "Basis",
    "Bucket",
    "Clamped",
    "CoherenceIndex",
    "CoherenceRule",
    "Concurrency",
    "ContainerCounts",
    "Decision",
    "Direction",
    "Durations",
    "Measured",
    "OnConflict",
    "Parameters",
    "Policy",
    "Situation",
    "Suggestion",
    "UnknownPolicyError",
    "Verdict",
    "Window",
    "advance",
    "calculate",
    "clamp",
    "get",
    "initial",
    "names",
    "need",
    "period_seconds",
    "read_advice",
    "register",
    "step",
]
