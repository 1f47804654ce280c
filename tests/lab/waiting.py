"""Waiting for a condition, with a reason where it does not come."""

from __future__ import annotations

import time
from collections.abc import Callable

_PAUSE_SECONDS = 0.05


class LabError(Exception):
    """A laboratory did not come up, or is not what it should be."""


def wait_until(condition: Callable[[], object], seconds: float, reason: Callable[[], str]) -> None:
    """Look until the condition is true; :class:`LabError` with the reason after so many seconds."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise LabError(f"after {seconds:g} s: {reason()}")
        time.sleep(_PAUSE_SECONDS)
