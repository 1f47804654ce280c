"""Ports for servers that must be told theirs before they start."""

from __future__ import annotations

import random
import socket
from pathlib import Path
from typing import Final

_LOWEST: Final = 10_000
_EPHEMERAL: Final = Path("/proc/sys/net/ipv4/ip_local_port_range")

_given: set[int] = set()
_drawn: Final = random.SystemRandom()


def free_port() -> int:
    """A port of 127.0.0.1 that nobody listens on, given to nobody else here.

    The kernel takes it for no connection either, as it would any that it gives out itself: a server that takes seconds
    to start finds it still free.
    """
    first_ephemeral = int(_EPHEMERAL.read_text().split()[0])
    while (port := _drawn.randrange(_LOWEST, first_ephemeral)) in _given or not _is_free(port):
        pass
    _given.add(port)
    return port


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True
