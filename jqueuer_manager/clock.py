"""Whether the store's clock was set: compared with this process's steady one."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

_NOTICED_SECONDS: Final = 2.0
"""By less it may be out of step without being set: clocks are slewed, and a call takes its time."""


class StoreClock:
    """Reads the store's clock; used by one thread at a time."""

    def __init__(self, now: Callable[[], float], steady: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._steady = steady
        self._last: tuple[float, float] | None = None

    def read(self) -> tuple[float, float]:
        """What it says, and by how many seconds it was set since the last reading; forward where positive."""
        before = self._steady()
        now = self._now()
        steady = self._steady()
        last, self._last = self._last, (now, steady)
        if last is None:
            return now, 0.0
        jump = (now - last[0]) - (steady - last[1])
        return now, jump if abs(jump) > _NOTICED_SECONDS + steady - before else 0.0
