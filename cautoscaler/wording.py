"""Numbers in the sentences that people read."""

from __future__ import annotations


def amount(value: float) -> str:
    """A number as a person would write it: ``5400``, ``51.9``, ``0.35``."""
    rounded = round(value, 1 if abs(value) >= 10 else 3) + 0.0  # no -0
    text = f"{rounded:.3f}"
    return text.rstrip("0").rstrip(".")


def plural(count: int, noun: str) -> str:
    """A count with its noun: ``1 job``, ``3 jobs``."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
