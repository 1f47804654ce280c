"""The answer of a policy service (paper §III-A, a policy behind a REST URL), checked before anybody relies on it.

The request and the answer are described in ``docs/policies.md``. Asking is I/O and happens elsewhere; reading is pure.
"""

from __future__ import annotations

import json
from dataclasses import dataclass

MAX_ANSWER_BYTES = 65_536
MAX_CONTAINERS = 1_000_000
"""More is taken for a mistake, not brought within the limits."""
_MAX_REASON_CHARACTERS = 300


@dataclass(frozen=True, slots=True)
class Advice:
    """What a policy service answered: a number of containers, or the error that stands in for it."""

    containers: int | None = None
    reason: str = ""
    """The service's own words."""
    error: str = ""
    """Why there is no number, in words; empty where there is one."""


def read_advice(status: int, body: bytes) -> Advice:
    """Read an HTTP answer; whatever is wrong with it becomes the advice's error, nothing is raised."""
    if not 200 <= status < 300:
        return Advice(error=f"it answered with status {status}")
    if len(body) > MAX_ANSWER_BYTES:
        return Advice(error=f"its answer is larger than {MAX_ANSWER_BYTES} bytes")
    try:
        answer = json.loads(body)
    except (ValueError, RecursionError):
        return Advice(error="its answer is not JSON")
    if not isinstance(answer, dict):
        return Advice(error='its answer is not an object such as {"containers": 3}')
    containers, reason = answer.get("containers"), answer.get("reason")
    if isinstance(containers, bool) or not isinstance(containers, int) or not 0 <= containers <= MAX_CONTAINERS:
        return Advice(error=f'its answer lacks "containers", a whole number from 0 to {MAX_CONTAINERS}')
    return Advice(containers=containers, reason=_text(reason) if isinstance(reason, str) else "")


def _text(words: str) -> str:
    """The service's words as text on one line, whatever it sent: terminals and stores take it as it is."""
    return "".join(one if one.isprintable() else " " for one in words[:_MAX_REASON_CHARACTERS])
