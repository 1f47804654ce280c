"""The policies, one per file, found by name.

A new one is a file here with a class under ``@register``, and its import below (``docs/policies.md``).
"""

from __future__ import annotations

from cautoscaler.policies import (
    budget,
    deadline_2018,
    deadline_forecast,
    deadline_paper,
    fixed,
    queue_length,
    rest,
    schedule,
    target_duration,
)
from cautoscaler.policies.registry import Policy, UnknownPolicyError, get, names, register

__all__ = [
    "Policy",
    "UnknownPolicyError",
    "budget",
    "deadline_2018",
    "deadline_forecast",
    "deadline_paper",
    "fixed",
    "get",
    "names",
    "queue_length",
    "register",
    "rest",
    "schedule",
    "target_duration",
]
