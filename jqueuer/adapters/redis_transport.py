"""kombu's Redis transport, with two things mended, and two priorities.

One client per channel instead of a new one for every publication and acknowledgement: making a client costs more than
the command it is made for. And an acknowledgement that fails does not stop its channel for ever.
"""

from __future__ import annotations

import json
from typing import Any

from kombu.transport import TRANSPORT_ALIASES
from kombu.transport import redis as typed_redis

kombu_redis: Any = typed_redis  # the type stubs know only the half of it


class QoS(kombu_redis.QoS):  # type: ignore[misc] # its base is Any
    """Forgets a delivery whose acknowledgement could not be sent: a channel that waits for it would take no other."""

    def ack(self, delivery_tag: Any) -> None:
        """Acknowledge; where the broker is away it will deliver the message again, which finds nothing to claim."""
        try:
            self._remove_from_indices(delivery_tag).execute()
        finally:
            super(kombu_redis.QoS, self).ack(delivery_tag)


class Channel(kombu_redis.Channel):  # type: ignore[misc] # its base is Any
    """Keeps the client of its connection pool; it holds no connection of its own and is safe among threads."""

    QoS = QoS
    priority_steps = (0, 1)
    """A list each; what is in the first is handed out first."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self._pool_client: Any = None
        super().__init__(*args, **kwargs)

    def forget_unacknowledged(self, queue: str) -> None:
        """Drop the deliveries of a queue that were never acknowledged: they would bring it to life again one day."""
        with self.conn_or_acquire() as client:
            for tag, delivery in client.hscan_iter(self.unacked_key):
                if json.loads(delivery)[2] == queue:
                    client.hdel(self.unacked_key, tag)
                    client.zrem(self.unacked_index_key, tag)

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
