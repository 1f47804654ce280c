"""Writing to a broker what no client of ours would."""

from __future__ import annotations

import base64
import json
from typing import Any
from uuid import uuid4

import amqp

from jqueuer.adapters.celery_queue import job_queue
from jqueuer.adapters.redis_store import connect
from tests.contract.brokers import Broker, RabbitMQ
from tests.contract.forged_messages import Forged, no_envelopes, unreadable_properties


class _Unreadable(amqp.Message):
    """A message whose properties are written as they are given."""

    def __init__(self, properties: bytes) -> None:
        super().__init__(b"[]")
        self._bytes = properties

    def _serialize_properties(self) -> bytes:
        return self._bytes


def put(broker: Broker, experiment_id: str, forged: list[Forged]) -> int:
    """Publish them, and what can be forged on this broker only; how many in all."""
    if isinstance(broker.server, RabbitMQ):
        return _put_on_rabbitmq(broker.server, experiment_id, forged)
    name = job_queue(experiment_id, broker.url).name
    elements = [*map(_envelope, forged), *no_envelopes().values(), b" " * 1_000_000]
    with connect(f"unix://{broker.server.socket}?db=1") as client:
        for element in elements:
            client.lpush(name, element)
    return len(elements)


def _envelope(forged: Forged) -> bytes:
    """As kombu puts it into a list."""
    properties: dict[str, Any] = {
        "delivery_mode": 2,
        "delivery_info": {"exchange": "", "routing_key": "somewhere"},
        "priority": 0,
        "body_encoding": "base64",
        "delivery_tag": "always the same",
    }
    document = {
        "body": base64.b64encode(forged.body).decode(),
        "content-encoding": forged.content_encoding,
        "content-type": forged.content_type,
        "headers": forged.headers,
        "properties": properties,
    }
    return json.dumps(document).encode()


def _put_on_rabbitmq(server: RabbitMQ, experiment_id: str, forged: list[Forged]) -> int:
    queue: Any = job_queue(experiment_id, server.broker_url)
    name = queue.name
    with server.connection() as connection:
        channel = connection.channel()
        channel.queue_declare(name, durable=True, auto_delete=False, arguments=queue.queue_arguments)
        for one in forged:
            given = {"content_type": one.content_type, "content_encoding": one.content_encoding}
            properties = {key: value for key, value in given.items() if value is not None}
            message = amqp.Message(one.body, application_headers=one.headers, **properties)
            channel.basic_publish_confirm(message, exchange="", routing_key=name)
        for unreadable in unreadable_properties().values():
            channel.basic_publish_confirm(_Unreadable(unreadable), exchange="", routing_key=name)
        exchange = f"forger-{uuid4().hex}"
        channel.exchange_declare(exchange, "fanout")
        channel.queue_bind(name, exchange)
        channel.basic_publish_confirm(amqp.Message(b"[]"), exchange=exchange, routing_key=b"\xff\xfe")
        channel.exchange_delete(exchange)
    return len(forged) + len(unreadable_properties()) + 1
