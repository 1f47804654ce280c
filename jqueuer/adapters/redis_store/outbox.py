"""The outbox on Redis or Valkey: the messages of an experiment lie with it, one sorted set says which are due when."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from itertools import count
from typing import Final

import structlog

from jqueuer.adapters.redis_store.connection import StoreClient
from jqueuer.adapters.redis_store.experiments import experiment_key
from jqueuer.adapters.redis_store.outbox_scripts import (
    CLOSE,
    DUE,
    OUTCOMES,
    POSTPONE,
    TELL_AT_RISK,
    arguments_of,
    message_in,
)
from jqueuer.notifying import Message
from jqueuer.records import JournalEntry

_PAGE: Final = 500

log = structlog.get_logger()


class RedisOutbox:
    """The :class:`~jqueuer.ports.Outbox` on Redis or Valkey."""

    def __init__(self, client: StoreClient, *, journal_entries: int = 5000) -> None:
        self._client = client
        self._journal_entries = journal_entries
        self._tell = client.register_script(TELL_AT_RISK)
        self._postpone = client.register_script(POSTPONE)
        self._close = client.register_script(CLOSE)

    def tell_at_risk(self, experiment_id: str, messages: Sequence[Message], entry: JournalEntry) -> bool:
        """Put these in once per risk."""
        arguments = [entry.model_dump_json(), self._journal_entries, entry.at, *arguments_of(messages)]
        return bool(self._tell(keys=_keys(experiment_id), args=arguments))

    def forget_risk(self, experiment_id: str) -> None:
        """The next risk is told."""
        self._client.hdel(experiment_key(experiment_id), "told_at_risk")

    def due(self, now: float, *, busy: Collection[str], limit: int) -> list[Message]:
        """One message for each receiver that is not busy."""
        chosen: dict[str, str] = {}
        for page in count():
            places = self._client.zrangebyscore(DUE, "-inf", now, start=page * _PAGE, num=_PAGE)
            for place in places:
                receiver = place.rpartition(" ")[2]
                if receiver not in busy and len(chosen) < limit:
                    chosen.setdefault(receiver, place)
            if len(places) < _PAGE or len(chosen) >= limit:
                break
        found = (self._message_at(place) for place in chosen.values())
        return [message for message in found if message is not None]

    def _message_at(self, place: str) -> Message | None:
        """The message of a place; one whose message went with its experiment, or with a backup, is cleared.

        So is one whose message cannot be read, or it would hold up all others for ever.
        """
        try:
            experiment_id, message_id, _ = place.split(" ")
            entry = self._client.hget(f"{experiment_key(experiment_id)}:outbox", message_id)
            if entry is not None:
                return message_in(entry)
        except ValueError as error:  # did a newer version write it?
            problem = type(error).__name__  # its words would show the URL
            log.error("a message that is due cannot be read, and is not sent", place=place, problem=problem)
        self._client.zrem(DUE, place)
        return None

    def postpone(self, message: Message, until: float, entry: JournalEntry | None = None) -> None:
        """Try again then."""
        line = "" if entry is None else entry.model_dump_json()
        arguments = [line, self._journal_entries, until, message.tries + 1, *arguments_of([message])]
        self._postpone(keys=_keys(message.experiment_id), args=arguments)

    def close(self, message: Message, entry: JournalEntry, *, delivered: bool) -> None:
        """Delivered, or given up."""
        outcome = "delivered" if delivered else "given-up"
        arguments = [entry.model_dump_json(), self._journal_entries, outcome, *arguments_of([message])]
        self._close(keys=_keys(message.experiment_id), args=arguments)

    def outcomes(self) -> Mapping[str, int]:
        """How tries ended."""
        return {outcome: int(number) for outcome, number in self._client.hgetall(OUTCOMES).items()}


def _keys(experiment_id: str) -> list[str]:
    base = experiment_key(experiment_id)
    return [base, f"{base}:outbox", DUE, f"{base}:journal", OUTCOMES]
