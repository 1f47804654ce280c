"""The policies, one per file, found by name.

A new one is a file here with a class under ``@register``, and its import below (``docs/policies.md``).
"""

from __future__ import annotations

from cautoscaler.policies import deadline_2018, deadline_paper, fixed, rest
from cautoscaler.policies.registry import Policy, UnknownPolicyError, get, names, register

__all__ = [
    "Policy",
    "UnknownPolicyError",
    "deadline_2018",
    "deadline_paper",
    "fixed",
    "get",
    "names",
    "register",
    "rest",
]
