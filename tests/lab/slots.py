"""Names and subnets for laboratories: several run at once on one machine, none takes another's."""

from __future__ import annotations

import fcntl
import os
from dataclasses import dataclass, field
from pathlib import Path

from tests.lab.waiting import LabError

RUN_DIR = Path("/run/jqueuer-lab")
"""Locks, sockets and configurations of the laboratories of this machine."""

_LETTERS = "abcdefghijklmnopqrstuvwxyz"


@dataclass
class Slot:
    """A name and a subnet that are ours until they are released, or this process ends."""

    name: str
    subnet: str
    _lock: int = field(repr=False)

    def release(self) -> None:
        """Give the name to the next."""
        os.close(self._lock)


def take(name: str, subnet: str) -> Slot:
    """The slot of this name; the first free one where the name is empty.

    :class:`~tests.lab.waiting.LabError` when it is taken.
    """
    RUN_DIR.mkdir(parents=True, exist_ok=True)
    wanted = (
        [(name, subnet)] if name else [(f"jq{letter}", f"10.78.{number}") for number, letter in enumerate(_LETTERS)]
    )
    for candidate, its_subnet in wanted:
        lock = os.open(RUN_DIR / f"{candidate}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(lock)
            continue
        return Slot(candidate, its_subnet, lock)
    raise LabError(f"laboratory {name!r} is in use by another process" if name else "all laboratories are in use")
