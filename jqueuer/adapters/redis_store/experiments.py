"""Experiments and the decisions about them, on Redis or Valkey."""

from __future__ import annotations

import functools
import hashlib
from collections import Counter
from collections.abc import Sequence
from typing import Final

from jqueuer.adapters.redis_store.connection import StoreClient
from jqueuer.adapters.redis_store.experiment_scripts import ACCEPT, AMEND, FORGET_KEY, MOVE_EXPERIMENT, SETTLE
from jqueuer.adapters.redis_store.history import History
from jqueuer.adapters.redis_store.outbox_scripts import DUE, arguments_of
from jqueuer.errors import NotFoundError
from jqueuer.model import ContainerLimits, Experiment
from jqueuer.notifying import Message
from jqueuer.records import ExperimentRecord, HistoryPoint, JournalEntry
from jqueuer.states import ExperimentState

STORE_VERSION: Final = 2
"""How the store is written, and each record in it; whoever changes that adds a step to ``migrations``."""
EXPERIMENTS: Final = "jq:experiments"
ACTIVE: Final = "jq:active"
RECEIVING: Final = "jq:receiving"
_KEY_SECONDS: Final = 86_400
_DELETED_SECONDS: Final = 86_400
_DELETE_BATCH: Final = 1000
_KEPT_OF_A_KIND: Final = 20
_REMEMBERED_LENGTH: Final = 16_384
_DEFAULT_NAME: Final = Experiment.model_fields["name"].default


def experiment_key(experiment_id: str) -> str:
    """The hash of an experiment; its other keys begin with it."""
    return f"jq:x:{experiment_id}"


def _tombstone(experiment_id: str) -> str:
    return f"jq:deleted:{experiment_id}"


def _kind_key(description: Experiment) -> str:
    """Where the ended experiments of its kind are listed; empty where nothing tells what kind it is."""
    image, name = description.image or "", description.name
    if not image and name == _DEFAULT_NAME:
        return ""
    return f"jq:kind:{hashlib.sha256(f'{image} {name}'.encode()).hexdigest()[:32]}"


class RedisExperimentStore:
    """The :class:`~jqueuer.ports.ExperimentStore` on Redis or Valkey."""

    def __init__(self, client: StoreClient, *, journal_entries: int = 5000) -> None:
        self._client = client
        self._journal_entries = journal_entries
        self._accept = client.register_script(ACCEPT)
        self._amend = client.register_script(AMEND)
        self._move = client.register_script(MOVE_EXPERIMENT)
        self._settle = client.register_script(SETTLE)
        self._forget_key = client.register_script(FORGET_KEY)
        self._history = History(client)

    def create(self, record: ExperimentRecord) -> None:
        """Remember a new experiment, unseen until it is accepted."""
        fields: dict[str, str | int | float] = {
            "id": record.id,
            "version": STORE_VERSION,
            "description": record.description.model_dump_json(),
            "state": ExperimentState.RECEIVING.value,
            "reason": record.reason,
            "created_at": record.created_at,
            "owner": record.owner,
            "source": record.source,
            "source_digest": record.source_digest,
            "notices": "\n".join(record.notices),
            "published": record.published,
        }
        if record.deadline_at is not None:
            fields["deadline_at"] = record.deadline_at
        if kind := _kind_key(record.description):
            fields["kind"] = kind
        with self._client.pipeline() as batch:
            batch.hset(experiment_key(record.id), mapping=fields)
            batch.sadd(RECEIVING, record.id)
            batch.execute()

    def accept(self, experiment_id: str) -> None:
        """Make it visible and running; :class:`NotFoundError` if it was cleared away meanwhile."""
        keys = [experiment_key(experiment_id), EXPERIMENTS, ACTIVE, RECEIVING]
        if not self._accept(keys=keys, args=[experiment_id, ExperimentState.RUNNING.value]):
            raise NotFoundError(
                f"the experiment {experiment_id!r} was cleared away while it was received; send it again"
            )

    def get(self, experiment_id: str) -> ExperimentRecord:
        """The record; :class:`NotFoundError` if there is none."""
        fields = self._client.hgetall(experiment_key(experiment_id))
        # Whoever counted something while it was deleted may have left a field or two.
        if "description" not in fields or fields.get("state") == ExperimentState.RECEIVING.value:
            raise NotFoundError(f"there is no experiment {experiment_id!r}")
        return _record(fields)

    def page(
        self, *, states: Sequence[ExperimentState] = (), owner: str = "", offset: int = 0, limit: int = 50
    ) -> tuple[list[ExperimentRecord], int]:
        """Experiments, newest first."""
        ids = list(self._client.zrevrange(EXPERIMENTS, 0, -1))
        if states or owner:
            ids = [
                experiment_id
                for experiment_id, (state, whose) in zip(ids, self._states_and_owners(ids), strict=True)
                if (not states or state in states) and owner in ("", whose)
            ]
        with self._client.pipeline(transaction=False) as batch:
            for experiment_id in ids[offset : offset + limit]:
                batch.hgetall(experiment_key(experiment_id))
            return [_record(fields) for fields in batch.execute() if fields], len(ids)

    def count_by_state(self) -> dict[ExperimentState, int]:
        """How many accepted experiments are in each state."""
        states = (state for state, _ in self._states_and_owners(self._client.zrange(EXPERIMENTS, 0, -1)))
        return dict(Counter(ExperimentState(state) for state in states if state is not None))

    def active(self) -> list[str]:
        """Ids of experiments that are not settled."""
        return sorted(self._client.smembers(ACTIVE))

    def unfinished_of(self, owner: str) -> int:
        """How many of this owner's are being received or have not ended."""
        ended = {state.value for state in ExperimentState if state.terminal}
        ids = list(self._client.sunion(ACTIVE, RECEIVING))
        return sum(whose == owner and state not in ended for state, whose in self._states_and_owners(ids))

    def _states_and_owners(self, ids: Sequence[str]) -> list[tuple[str | None, str | None]]:
        with self._client.pipeline(transaction=False) as batch:
            for experiment_id in ids:
                batch.hmget(experiment_key(experiment_id), "state", "owner")
            return [(state, whose) for state, whose in batch.execute()]

    def unfinished_receipts(self) -> list[str]:
        """Ids whose jobs never arrived completely."""
        return sorted(self._client.smembers(RECEIVING))

    def move(
        self,
        experiment_id: str,
        expected: Sequence[ExperimentState],
        state: ExperimentState,
        *,
        reason: str = "",
        messages: Sequence[Message] = (),
    ) -> bool:
        """Change the state if it is one of the expected ones."""
        base, states = experiment_key(experiment_id), [known.value for known in expected]
        arguments = [experiment_id, state.value, reason, int(state.terminal), _KEPT_OF_A_KIND, len(states), *states]
        return bool(self._move(keys=[base, ACTIVE, f"{base}:outbox", DUE], args=[*arguments, *arguments_of(messages)]))

    def settle(self, experiment_id: str) -> None:
        """Nothing of it runs any more."""
        ended = [state.value for state in ExperimentState if state.terminal]
        self._settle(keys=[experiment_key(experiment_id), ACTIVE], args=[experiment_id, *ended])

    def finished_like(self, description: Experiment) -> list[str]:
        """Ids of the latest finished experiments of the same image and name."""
        kind = _kind_key(description)
        ids = self._client.lrange(kind, 0, -1) if kind else []
        with self._client.pipeline(transaction=False) as batch:
            for experiment_id in ids:
                batch.hexists(experiment_key(experiment_id), "finished_at")
            return [experiment_id for experiment_id, ended in zip(ids, batch.execute(), strict=True) if ended]

    def amend(
        self,
        experiment_id: str,
        *,
        deadline_at: float | None = None,
        minimum: int | None = None,
        maximum: int | None = None,
    ) -> ExperimentRecord:
        """Change deadline or limits; what is None stays."""
        changes = {"deadline_at": deadline_at, "minimum": minimum, "maximum": maximum}
        fields: dict[str, float | int] = {name: value for name, value in changes.items() if value is not None}
        if fields:
            arguments = [part for field in fields.items() for part in field]
            self._amend(keys=[experiment_key(experiment_id)], args=arguments)
        return self.get(experiment_id)

    def set_published(self, experiment_id: str, count: int) -> None:
        """Remember how many jobs were handed to the queue."""
        self._client.hset(experiment_key(experiment_id), "published", count)

    def journal(self, experiment_id: str, entry: JournalEntry) -> None:
        """Append a decision."""
        key = f"{experiment_key(experiment_id)}:journal"
        with self._client.pipeline() as batch:
            batch.rpush(key, entry.model_dump_json())
            batch.ltrim(key, -self._journal_entries, -1)
            batch.execute()

    def decisions(self, experiment_id: str, *, limit: int = 200) -> list[JournalEntry]:
        """The latest decisions, oldest first."""
        lines = self._client.lrange(f"{experiment_key(experiment_id)}:journal", -limit, -1)
        return [JournalEntry.model_validate_json(line) for line in lines]

    def record_point(self, experiment_id: str, point: HistoryPoint, *, at_once: bool = False) -> float:
        """Remember how it stands; the seconds until the next point is due."""
        return self._history.record(experiment_key(experiment_id), point, at_once=at_once)

    def history(self, experiment_id: str) -> list[HistoryPoint]:
        """The points that are kept."""
        return self._history.points(experiment_key(experiment_id))

    def latest_points(self, experiment_ids: Sequence[str]) -> list[HistoryPoint | None]:
        """What was remembered last of each; one round trip for all."""
        return self._history.latest([experiment_key(experiment_id) for experiment_id in experiment_ids])

    def delete(self, experiment_id: str) -> None:
        """Forget the experiment: first from the lists, then its jobs a batch at a time."""
        base = experiment_key(experiment_id)
        kind = self._client.hget(base, "kind")
        accepted = self._client.zscore(EXPERIMENTS, experiment_id) is not None  # else it never had containers
        with self._client.pipeline() as batch:
            if accepted:
                batch.set(_tombstone(experiment_id), 1, ex=_DELETED_SECONDS)
            batch.zrem(EXPERIMENTS, experiment_id)
            batch.srem(ACTIVE, experiment_id)
            batch.sadd(RECEIVING, experiment_id)  # a deletion that is cut short is completed at the next start
            batch.execute()
        for start in range(0, self._client.zcard(f"{base}:order"), _DELETE_BATCH):
            ids = self._client.zrange(f"{base}:order", start, start + _DELETE_BATCH - 1)
            self._client.unlink(*(f"{base}:job:{job_id}" for job_id in ids))
        suffixes = ["order", "leases", "due", "busy", "journal", "containers", "draining", "queued", "running"]
        suffixes += ["accomplished", "failed", "cancelled", "busy_since", "measured", "history", "spans", "outbox"]
        waiting: list[str] = []
        if self._client.exists(f"{base}:outbox"):  # perhaps with messages that this version cannot read
            waiting = [place for place, _ in self._client.zscan_iter(DUE, f"{experiment_id} *", count=_DELETE_BATCH)]
        lanes = [f"{lane}:{suffix}" for lane in (base, f"{base}:post") for suffix in suffixes]
        with self._client.pipeline() as batch:
            batch.unlink(*lanes, f"{base}:post:job:@post", base)
            if kind:
                batch.lrem(kind, 0, experiment_id)
            if waiting:
                batch.zrem(DUE, *waiting)
            batch.execute()
        self._client.srem(RECEIVING, experiment_id)

    def was_deleted(self, experiment_id: str) -> bool:
        """Whether an accepted experiment of this id was deleted within the last day."""
        return bool(self._client.exists(_tombstone(experiment_id)))

    def remember_key(self, key: str, digest: str, experiment_id: str) -> tuple[str, str]:
        """First use wins; returns what stands for the key now."""
        name, value = f"jq:key:{key}", f"{digest} {experiment_id}"
        self._client.set(name, value, nx=True, ex=_KEY_SECONDS)
        standing = str(self._client.get(name) or value)
        known_digest, _, known_id = standing.partition(" ")
        return known_digest, known_id

    def forget_key(self, key: str, experiment_id: str) -> None:
        """The key may be used again, if this experiment stands for it."""
        self._forget_key(keys=[f"jq:key:{key}"], args=[experiment_id])

    def memory_bytes(self) -> int:
        """Memory that the server has allocated."""
        return int(self._client.info("memory")["used_memory"])

    def now(self) -> float:
        """The server's clock."""
        seconds, microseconds = self._client.time()
        return float(seconds) + float(microseconds) / 1e6


def _description(text: str) -> Experiment:
    return _known_description(text) if len(text) <= _REMEMBERED_LENGTH else Experiment.model_validate_json(text)


@functools.lru_cache(maxsize=512)
def _known_description(text: str) -> Experiment:
    """It never changes and is read again and again: at every look of the controller, in every list."""
    return Experiment.model_validate_json(text)


def _record(fields: dict[str, str]) -> ExperimentRecord:
    description = _description(fields["description"])
    if "minimum" in fields or "maximum" in fields:
        limits = ContainerLimits(
            min=int(fields.get("minimum", description.containers.min)),
            max=int(fields.get("maximum", description.containers.max)),
        )
        description = description.model_copy(update={"containers": limits})
    return ExperimentRecord(
        id=fields["id"],
        description=description,
        state=ExperimentState(fields["state"]),
        created_at=float(fields["created_at"]),
        deadline_at=_optional(fields, "deadline_at"),
        finished_at=_optional(fields, "finished_at"),
        reason=fields.get("reason", ""),
        owner=fields.get("owner", ""),
        source=fields.get("source", ""),
        source_digest=fields.get("source_digest", ""),
        notices=tuple(fields.get("notices", "").splitlines()),
        published=int(fields.get("published", 0)),
        told_at_risk="told_at_risk" in fields,
    )


def _optional(fields: dict[str, str], name: str) -> float | None:
    return float(fields[name]) if name in fields else None
