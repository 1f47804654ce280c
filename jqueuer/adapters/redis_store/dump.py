"""The store's keys as portable entries, read and written in batches of bounded size.

Not the server's own dump: that could be read by servers of the same version only. Each entry has a key, its type and
its value, or a part of it. What is true of this moment and this place only is left out: leases, containers, services,
browsers' sessions, and the sets of jobs by state, which :mod:`~jqueuer.adapters.redis_store.rebuilding` makes of the
jobs themselves.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import asdict, dataclass
from itertools import islice
from typing import Any, Final

from jqueuer.adapters.redis_store.connection import StoreClient
from jqueuer.adapters.redis_store.experiments import EXPERIMENTS, RECEIVING, experiment_key
from jqueuer.adapters.redis_store.sessions import SESSIONS
from jqueuer.adapters.redis_store.versions import UPGRADING, VERSION
from jqueuer.errors import BackupError
from jqueuer.model import POST_JOB_ID
from jqueuer.states import ExperimentState, JobState

KEYS: Final = "jq:"
OF_EXPERIMENTS: Final = experiment_key("")
POST_LANE: Final = "post"

_JOBS: Final = 200
_MEMBERS: Final = 1000
_PASSING_KEYS: Final = frozenset({EXPERIMENTS, RECEIVING, VERSION, UPGRADING, "jq:services"})
_PASSING: Final = frozenset(
    {"leases", "due", "busy", "busy_since", "containers", "draining", *(state.value for state in JobState)}
)


@dataclass(frozen=True, slots=True)
class Entry:
    """A key with its value, or with a part of it."""

    key: str
    type: str
    """``hash``, ``set``, ``zset``, ``list`` or ``string``."""
    value: Any
    first: bool = True
    """Whether it is the first part of the value."""
    expires_at_ms: int | None = None
    """Since the epoch."""

    def as_dict(self) -> dict[str, Any]:
        """The entry as JSON."""
        return asdict(self)


def accepted_experiments(client: StoreClient) -> list[str]:
    """The experiments there are, oldest first."""
    return list(client.zrange(EXPERIMENTS, 0, -1))


def is_there(client: StoreClient, experiment_id: str) -> bool:
    """Whether the experiment was not deleted meanwhile."""
    return client.zscore(EXPERIMENTS, experiment_id) is not None


def experiment_entries(client: StoreClient, experiment_id: str) -> Iterator[list[Entry]]:
    """The experiment's record, then its jobs a batch at a time, each job as it is at one instant.

    The record comes first: an experiment that ends meanwhile is one that has still to notice that its jobs have.
    """
    base = experiment_key(experiment_id)
    record = client.hgetall(base)
    if not record or record.get("state") == ExperimentState.RECEIVING.value:
        return
    yield [Entry(base, "hash", record)]
    for lane in (base, f"{base}:{POST_LANE}"):
        start = 0
        while positions := client.zrange(f"{lane}:order", start, start + _JOBS - 1, withscores=True):
            order = Entry(f"{lane}:order", "zset", [list(pair) for pair in positions], first=start == 0)
            yield [order, *_jobs(client, lane, [job_id for job_id, _ in positions])]
            start += len(positions)
    post = f"{base}:{POST_LANE}"
    if client.zscore(f"{post}:order", POST_JOB_ID) is None:  # after a retry: only its token is of importance
        yield _jobs(client, post, [POST_JOB_ID])


def job_of(entry: Entry, experiment_id: str) -> str | None:
    """Which job of the experiment an entry is, if it is one."""
    for lane in (experiment_key(experiment_id), f"{experiment_key(experiment_id)}:{POST_LANE}"):
        if entry.key.startswith(prefix := f"{lane}:job:"):
            return entry.key.removeprefix(prefix)
    return None


def other_entries(client: StoreClient, experiments: Collection[str]) -> Iterator[Entry]:
    """Everything else that is to be kept, of these experiments and of none."""
    for key in client.scan_iter(f"{KEYS}*", count=_MEMBERS):
        if key in _PASSING_KEYS or key.startswith(SESSIONS):
            continue
        if key.startswith(OF_EXPERIMENTS):
            experiment_id, _, suffix = key.removeprefix(OF_EXPERIMENTS).partition(":")
            name = suffix.removeprefix(f"{POST_LANE}:")
            if experiment_id not in experiments or name in _PASSING or name in ("", "order") or name.startswith("job:"):
                continue
        yield from _entries(client, key)


def load(client: StoreClient, entries: Iterable[Entry]) -> None:
    """Write entries as they are; those that have expired meanwhile are left out."""
    seconds, microseconds = client.time()
    now_ms = seconds * 1000 + microseconds // 1000
    with client.pipeline(transaction=False) as batch:
        for entry in entries:
            if not entry.key.startswith(KEYS) or entry.type not in _WRITE:
                raise BackupError(f"the backup holds {entry.key!r} of type {entry.type!r}, which no store of ours has")
            if entry.expires_at_ms is not None and entry.expires_at_ms <= now_ms:
                continue
            if entry.first and entry.type == "list":
                batch.delete(entry.key)
            _WRITE[entry.type](batch, entry)
            if entry.expires_at_ms is not None:
                batch.pexpireat(entry.key, entry.expires_at_ms)
        batch.execute()


def _jobs(client: StoreClient, lane: str, job_ids: list[str]) -> list[Entry]:
    keys = [f"{lane}:job:{job_id}" for job_id in job_ids]
    with client.pipeline(transaction=False) as batch:
        for key in keys:
            batch.hgetall(key)
        return [Entry(key, "hash", fields) for key, fields in zip(keys, batch.execute(), strict=True) if fields]


def _entries(client: StoreClient, key: str) -> Iterator[Entry]:
    with client.pipeline(transaction=False) as batch:
        batch.type(key)
        batch.pttl(key)
        batch.time()
        kind, remaining_ms, (seconds, microseconds) = batch.execute()
    if kind == "none":
        return
    expires_at_ms = seconds * 1000 + microseconds // 1000 + remaining_ms if remaining_ms >= 0 else None
    first = True
    for part in _READ[kind](client, key):
        yield Entry(key, kind, part, first, expires_at_ms)
        first = False


def _hash(client: StoreClient, key: str) -> Iterator[dict[str, str]]:
    found = client.hscan_iter(key, count=_MEMBERS)
    while part := dict(islice(found, _MEMBERS)):
        yield part


def _set(client: StoreClient, key: str) -> Iterator[list[str]]:
    found = client.sscan_iter(key, count=_MEMBERS)
    while part := list(islice(found, _MEMBERS)):
        yield part


def _zset(client: StoreClient, key: str) -> Iterator[list[list[Any]]]:
    found = client.zscan_iter(key, count=_MEMBERS)
    while part := [list(pair) for pair in islice(found, _MEMBERS)]:
        yield part


def _list(client: StoreClient, key: str) -> Iterator[list[str]]:
    start = 0
    while part := client.lrange(key, start, start + _MEMBERS - 1):
        yield part
        start += len(part)


def _string(client: StoreClient, key: str) -> Iterator[str]:
    if (value := client.get(key)) is not None:
        yield value


_READ: Final[dict[str, Callable[[StoreClient, str], Iterator[Any]]]] = {
    "hash": _hash,
    "set": _set,
    "zset": _zset,
    "list": _list,
    "string": _string,
}
_WRITE: Final[dict[str, Callable[[Any, Entry], object]]] = {
    "hash": lambda batch, entry: batch.hset(entry.key, mapping=entry.value),
    "set": lambda batch, entry: batch.sadd(entry.key, *entry.value),
    "zset": lambda batch, entry: batch.zadd(entry.key, dict(entry.value)),
    "list": lambda batch, entry: batch.rpush(entry.key, *entry.value),
    "string": lambda batch, entry: batch.set(entry.key, entry.value),
}
