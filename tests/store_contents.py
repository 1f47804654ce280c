"""What a store holds, to be compared; and stores as older versions wrote them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from jqueuer.adapters.redis_store.connection import StoreClient
from jqueuer.adapters.redis_store.dump import Entry, load

STORE_V1 = Path(__file__).parent / "data" / "store-v1"


def contents(client: StoreClient) -> dict[str, Any]:
    """Every key with its value, in an order of its own."""
    read = {
        "hash": client.hgetall,
        "set": client.smembers,
        "zset": lambda key: client.zrange(key, 0, -1, withscores=True),
        "list": lambda key: client.lrange(key, 0, -1),
        "string": client.get,
    }
    return {key: read[client.type(key)](key) for key in sorted(client.scan_iter("*"))}


def load_version_1(client: StoreClient) -> None:
    """A finished and an unfinished experiment, as they were written before stores had versions."""
    load(client, (Entry(**json.loads(line)) for line in (STORE_V1 / "store.jsonl").read_text().splitlines()))
