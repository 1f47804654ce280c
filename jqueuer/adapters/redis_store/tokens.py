"""Tokens, by their digests, on Redis or Valkey."""

from __future__ import annotations

from typing import Final

from jqueuer.access import TokenRecord
from jqueuer.adapters.redis_store.connection import StoreClient
from jqueuer.errors import NotFoundError

TOKENS: Final = "jq:tokens"
"""The hash of the tokens by their digests."""


class RedisTokenStore:
    """The :class:`~jqueuer.ports.TokenStore` on Redis or Valkey; tokens expire by the server's clock."""

    def __init__(self, client: StoreClient) -> None:
        self._client = client

    def add(self, record: TokenRecord) -> None:
        """Remember a token; those that have expired are forgotten for good."""
        self.all()
        self._client.hset(TOKENS, record.digest, record.model_dump_json())

    def find(self, digest: str) -> TokenRecord | None:
        """The token of this digest; one round trip, because every request asks."""
        with self._client.pipeline(transaction=False) as batch:
            batch.hget(TOKENS, digest)
            batch.time()
            found, now = batch.execute()
        return current(found, now)

    def all(self) -> list[TokenRecord]:
        """Every token that has not expired, the oldest first."""
        with self._client.pipeline(transaction=False) as batch:
            batch.hvals(TOKENS)
            batch.time()
            found, now = batch.execute()
        records = [TokenRecord.model_validate_json(one) for one in found]
        if expired := [record.digest for record in records if _has_expired(record, now)]:
            self._client.hdel(TOKENS, *expired)
        kept = (record for record in records if record.digest not in expired)
        return sorted(kept, key=lambda record: (record.created_at, record.id))

    def remove(self, token_id: str) -> TokenRecord:
        """Withdraw a token at once."""
        for record in self.all():
            if record.id == token_id and self._client.hdel(TOKENS, record.digest):
                return record
        raise NotFoundError(f"there is no token {token_id!r}")


def current(line: str | None, now: tuple[int, int]) -> TokenRecord | None:
    """A token as it is kept, by the server's clock; None where there is none, or where it has expired."""
    record = TokenRecord.model_validate_json(line) if line else None
    return None if record is None or _has_expired(record, now) else record


def _has_expired(record: TokenRecord, now: tuple[int, int]) -> bool:
    seconds, microseconds = now
    return record.expires_at is not None and record.expires_at <= seconds + microseconds / 1e6
