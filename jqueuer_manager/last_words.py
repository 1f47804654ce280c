"""What a process of the manager says when it cannot work, and the exit status that tells so."""

from __future__ import annotations

import sys
from typing import Final

from jqueuer.errors import JQueuerError

REFUSED: Final = 3
"""The exit status of a process that was not set up so that it can work."""


def say(error: JQueuerError) -> None:
    """Why, on stderr, in one line."""
    print(f"jqueuer manager: {error}", file=sys.stderr, flush=True)  # noqa: T201 - for people, not a log
