"""From one version of the store to the next: one step each.

A step can be cut short at any moment and run again, also over records that are upgraded already. It finds experiments
that are being received, too: those of an older backup are while they are restored. It yields now and then, so that
whoever runs it can say that it still does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final, TypeAlias

from jqueuer.adapters.redis_store.connection import StoreClient
from jqueuer.adapters.redis_store.experiments import EXPERIMENTS, RECEIVING, experiment_key

Step: TypeAlias = Callable[[StoreClient], Iterator[None]]

_BATCH: Final = 500
_STAMP: Final = """
-- KEYS: hash; ARGV: version. One that was deleted meanwhile is not made anew.
if redis.call('EXISTS', KEYS[1]) == 1 then redis.call('HSET', KEYS[1], 'version', ARGV[1]) end
"""


def _records_say_their_version(client: StoreClient) -> Iterator[None]:
    yield from _stamp_records(client, 2)


def _stamp_records(client: StoreClient, version: int) -> Iterator[None]:
    ids = [*client.zrange(EXPERIMENTS, 0, -1), *client.smembers(RECEIVING)]
    for start in range(0, len(ids), _BATCH):
        with client.pipeline(transaction=False) as batch:
            for experiment_id in ids[start : start + _BATCH]:
                batch.eval(_STAMP, 1, experiment_key(experiment_id), version)
            batch.execute()
        yield


STEPS: Final[dict[int, Step]] = {1: _records_say_their_version}
"""By the version they start from."""
