"""kombu's Redis transport, with one client per channel instead of a new one for every publication and acknowledgement.

Making a client costs more than the command it is made for: it was a tenth of the time a short job took.
"""

from __future__ import annotations

from typing import Any

from kombu.transport import TRANSPORT_ALIASES
from kombu.transport import redis as typed_redis

kombu_redis: Any = typed_redis  # the type stubs know only the half of it


class Channel(kombu_redis.Channel):  # type: ignore[misc] # its base is Any
    """Keeps the client of its connection pool; it holds no connection of its own and is safe among threads."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self._pool_client: Any = None
        super().__init__(*args, **kwargs)

    def _create_client(self, asynchronous: bool = False) -> Any:
        if asynchronous:
            return super()._create_client(asynchronous=True)
        if self._pool_client is None or self._pool_client.connection_pool is not self.pool:
            self._pool_client = super()._create_client()
        return self._pool_client


class Transport(kombu_redis.Transport):  # type: ignore[misc] # its base is Any
    """The transport of ``redis://`` broker URLs here."""

    Channel = Channel


def use() -> None:
    """Make kombu take this transport for ``redis://``, ``rediss://`` and ``redis+socket://``."""
    TRANSPORT_ALIASES.update(dict.fromkeys(("redis", "rediss"), f"{__name__}:Transport"))
