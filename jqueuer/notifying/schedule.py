"""When a message that its receiver did not take is tried again: after 5 s, then twice as long, up to an hour.

For a day, and ten times at least: a manager that was away longer has not tried. Then it is given up. Jitter keeps
messages that failed together from being tried together: it follows from the message's id, so nothing random is asked
here.
"""

from __future__ import annotations

import hashlib
from typing import Final

FIRST_SECONDS: Final = 5.0
LONGEST_SECONDS: Final = 3600.0
GIVE_UP_SECONDS: Final = 86_400.0
LEAST_TRIES: Final = 10
_JITTER: Final = 0.25
"""A pause is up to so much longer, as a part of it."""
_DOUBLINGS: Final = 10
"""After so many the longest pause is reached."""


def next_try_at(message_id: str, tries: int, first_at: float, now: float) -> float | None:
    """The moment of the next try after so many failed ones; None where the message is given up.

    ``first_at`` is when what it tells of happened; all moments are seconds since the epoch.
    """
    pause = FIRST_SECONDS * 2 ** min(max(tries, 1) - 1, _DOUBLINGS) * (1 + _JITTER * _share(message_id, tries))
    moment = now + min(pause, LONGEST_SECONDS)
    return moment if tries < LEAST_TRIES or moment <= first_at + GIVE_UP_SECONDS else None


def _share(message_id: str, tries: int) -> float:
    """From 0 to less than 1, unlike from message to message and from try to try."""
    digest = hashlib.sha256(f"{message_id} {tries}".encode()).digest()
    return int.from_bytes(digest[:4], "big") / 2**32
