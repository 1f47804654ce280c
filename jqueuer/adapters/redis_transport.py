"""kombu's Redis transport, with three things mended, and two priorities.

One client per channel instead of a new one for every publication and acknowledgement: making a client costs more than
the command it is made for. An acknowledgement that fails does not stop its channel for ever. And what somebody put into
a queue that is no message at all does not end the worker that takes it out.
"""

from __future__ import annotations

import base64
import json
from typing import Any, Final

from kombu.transport import TRANSPORT_ALIASES
from kombu.transport import redis as typed_redis
from kombu.utils.json import loads
from redis import ResponseError

from jqueuer.adapters.job_messages import MAX_BODY_BYTES, Refusal, say_refused

kombu_redis: Any = typed_redis  # the type stubs know only the half of it

_MAX_ENVELOPE_BYTES: Final = 4 * MAX_BODY_BYTES
"""A body in its envelope, with headers and properties; the server itself takes values of half a gigabyte."""


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
                if _routing_key(delivery) == queue:
                    client.hdel(self.unacked_key, tag)
                    client.zrem(self.unacked_index_key, tag)

    def _create_client(self, asynchronous: bool = False) -> Any:
        if asynchronous:
            client = super()._create_client(asynchronous=True)
            client.set_response_callback("BRPOP", _message_in)
            return client
        if self._pool_client is None or self._pool_client.connection_pool is not self.pool:
            self._pool_client = super()._create_client()
        return self._pool_client


def _routing_key(delivery: bytes) -> object:
    """Where a delivery came from; None where it is not kombu's."""
    try:
        return json.loads(delivery)[2]
    except (ValueError, LookupError, TypeError, RecursionError):
        return None


def _message_in(reply: Any, **_: Any) -> tuple[bytes, bytes] | None:
    """The list and its element where that is an envelope of kombu's; else it is as if nothing had come."""
    if not reply:
        return None
    queue, element = reply
    if len(element) > _MAX_ENVELOPE_BYTES:
        say_refused(Refusal.TOO_LARGE)
        return None
    if not _readable(element):
        say_refused(Refusal.UNREADABLE)
        return None
    return queue, element


def _readable(element: bytes) -> bool:
    """Whether kombu can take it apart without stumbling; what is compressed it would unpack before anybody looks."""
    try:
        match loads(element.decode()):
            case {
                "body": str(body),
                "headers": {**headers},
                "content-type": str(),
                "content-encoding": str(),
                "properties": {
                    "delivery_tag": str(),
                    "body_encoding": "base64",
                    "delivery_info": {"exchange": str(), "routing_key": str()},
                },
            }:
                base64.b64decode(body, validate=True)
                return "compression" not in headers
    except Exception:  # kombu's JSON makes dates, decimals and more of what it finds, each with faults of its own
        return False
    return False


class Transport(kombu_redis.Transport):  # type: ignore[misc] # its base is Any
    """The transport of ``redis://`` broker URLs here."""

    Channel = Channel

    connection_errors = (*kombu_redis.Transport.connection_errors, ResponseError)
    """A server that takes nothing, because its disk is full, say, is tried again like one that is away."""


def use() -> None:
    """Make kombu take this transport for ``redis://``, ``rediss://`` and ``redis+socket://``."""
    TRANSPORT_ALIASES.update(dict.fromkeys(("redis", "rediss"), f"{__name__}:Transport"))
