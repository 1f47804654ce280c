"""How many wrong tokens each address has shown lately."""

from __future__ import annotations

import ipaddress
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from typing import Final

WINDOW_SECONDS: Final = 60.0
MOST_ADDRESSES: Final = 10_000
"""Of more than these the longest known ones are forgotten: what is remembered stays small whoever knocks."""

_IPV6_NETWORK_BITS: Final = 64
"""Who has one IPv6 address has all of its network."""


class RefusedLogins:
    """Counts wrong tokens by address, each for a minute from the first on; safe among threads."""

    def __init__(self, most: int, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._most = most
        self._clock = clock
        self._lock = threading.Lock()
        self._seen: OrderedDict[str, tuple[float, int]] = OrderedDict()
        self.total = 0
        """Wrong tokens of all addresses since the manager was started."""

    def add(self, address: str) -> float:
        """Count another one; how many seconds the address has to wait, 0 while it has shown few."""
        place, now = network_of(address), self._clock()
        with self._lock:
            self.total += 1
            began_at, count = self._seen.get(place, (now, 0))
            if now - began_at >= WINDOW_SECONDS:
                self._seen.pop(place, None)
                began_at, count = now, 0
            self._seen[place] = (began_at, count + 1)
            if len(self._seen) > MOST_ADDRESSES:
                self._seen.popitem(last=False)
        return began_at + WINDOW_SECONDS - now if count >= self._most else 0.0


def network_of(address: str) -> str:
    """What counts as one address: an IPv4 address itself, an IPv6 address's network."""
    try:
        found = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:  # a socket's peer without an address
        return address
    if found.version == 4:
        return str(found)
    return str(ipaddress.ip_network((found, _IPV6_NETWORK_BITS), strict=False))
