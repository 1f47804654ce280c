"""After a backup was loaded: what follows from the jobs themselves is made of them, whatever moment was caught.

An experiment stays unseen, as one that is being received, until :func:`publish` shows all of them at once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Final

from jqueuer.adapters.redis_store.connection import StoreClient
from jqueuer.adapters.redis_store.dump import POST_LANE
from jqueuer.adapters.redis_store.experiments import (
    ACTIVE,
    EXPERIMENTS,
    RECEIVING,
    STORE_VERSION,
    RedisExperimentStore,
    experiment_key,
)
from jqueuer.adapters.redis_store.ledger import RedisJobLedger
from jqueuer.adapters.redis_store.outbox_scripts import DUE, message_in, place_of
from jqueuer.adapters.redis_store.versions import VERSION
from jqueuer.errors import BackupError, ConflictError
from jqueuer.states import ExperimentState, JobState

TOKEN_LEAP: Final = 1000
"""Attempts after a restore have numbers above the next multiple of it.

So none that was begun after the backup, and of which this store knows nothing, has the token of a new one.
"""

_BATCH: Final = 1000
_MAY_HAVE_QUEUED_JOBS: Final = (ExperimentState.RUNNING.value, ExperimentState.PAUSED.value)


def rebuild(client: StoreClient, experiment_id: str) -> None:
    """Jobs into the sets of their states, running ones back to queued, and all queued ones due for publication."""
    base = experiment_key(experiment_id)
    for lane in (base, f"{base}:{POST_LANE}"):
        for positions in _in_order(client, f"{lane}:order"):
            _sort_by_state(client, lane, positions)
    ledger = RedisJobLedger(client)
    ledger.release(experiment_id)
    state, published = client.hmget(base, "state", "published")
    if state == ExperimentState.CANCELLED.value:
        ledger.cancel(experiment_id)
    elif state not in _MAY_HAVE_QUEUED_JOBS and client.zcard(f"{base}:queued"):
        # Its user had it retried while the backup was made.
        client.hset(base, "state", ExperimentState.RUNNING.value)
        client.hdel(base, "finished_at")
    _queue_anew(client, base, int(published or 0))
    _queue_anew(client, f"{base}:{POST_LANE}", 1)
    for entry in client.hvals(f"{base}:outbox"):
        with suppress(ValueError):  # one that this version cannot read waits for one that can
            message = message_in(entry)
            # When it was due was perhaps read before it was put in.
            client.zadd(DUE, {place_of(message): message.at}, nx=True)


def publish(client: StoreClient, experiments: Sequence[str], active: Sequence[str]) -> None:
    """Show the experiments, all at once; ``active`` are those that were not settled."""
    if not all(client.smismember(RECEIVING, list(experiments)) if experiments else ()):
        raise ConflictError(
            "a manager started during the restore and cleared away what was there of it: begin again while none starts"
        )
    with client.pipeline(transaction=False) as batch:
        for experiment_id in experiments:
            batch.hmget(experiment_key(experiment_id), "created_at", "state")
        found = dict(zip(experiments, batch.execute(), strict=True))
    going_on = {one for one, (_, state) in found.items() if not ExperimentState(state).terminal}
    with client.pipeline() as batch:
        for experiment_id, (created_at, _) in found.items():
            batch.zadd(EXPERIMENTS, {experiment_id: float(created_at)})
            batch.srem(RECEIVING, experiment_id)
            if experiment_id in going_on or experiment_id in active:
                batch.sadd(ACTIVE, experiment_id)
        batch.set(VERSION, STORE_VERSION)
        batch.execute()


def discard(client: StoreClient, experiments: Sequence[str]) -> None:
    """Remove what was loaded and not published."""
    store = RedisExperimentStore(client)
    for experiment_id in experiments:
        store.delete(experiment_id)


def _in_order(client: StoreClient, key: str) -> Iterator[list[tuple[str, float]]]:
    start = 0
    while positions := client.zrange(key, start, start + _BATCH - 1, withscores=True):
        yield positions
        start += len(positions)


def _sort_by_state(client: StoreClient, lane: str, positions: Sequence[tuple[str, float]]) -> None:
    with client.pipeline(transaction=False) as batch:
        for job_id, _ in positions:
            batch.hget(f"{lane}:job:{job_id}", "state")
        states = batch.execute()
    with client.pipeline(transaction=False) as batch:
        for (job_id, position), state in zip(positions, states, strict=True):
            if state not in tuple(JobState):
                raise BackupError(f"the backup lacks the job {job_id!r} of {lane}")
            batch.zadd(f"{lane}:{state}", {job_id: position})
        batch.execute()


def _queue_anew(client: StoreClient, lane: str, published: int) -> None:
    """Let every queued job be handed out that the first publication will not: it takes those from ``published`` on."""
    for positions in _in_order(client, f"{lane}:queued"):
        with client.pipeline(transaction=False) as batch:
            for job_id, _ in positions:
                batch.hmget(f"{lane}:job:{job_id}", "token", "not_before")
            found = batch.execute()
        with client.pipeline(transaction=False) as batch:
            for (job_id, position), (token, not_before) in zip(positions, found, strict=True):
                leapt = (int(token or 0) // TOKEN_LEAP + 1) * TOKEN_LEAP
                batch.hset(f"{lane}:job:{job_id}", "token", leapt)
                if position < published or float(not_before or 0):
                    batch.zadd(f"{lane}:due", {job_id: float(not_before or 0) or position})
            batch.execute()
