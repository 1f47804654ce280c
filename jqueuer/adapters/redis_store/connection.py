"""A connection whose failures are the project's own error."""

from __future__ import annotations

from typing import Any, TypeAlias

import redis
from redis.backoff import ExponentialBackoff
from redis.client import Pipeline
from redis.retry import Retry

from jqueuer.errors import StoreUnavailableError

_UNREACHABLE = (redis.ConnectionError, redis.TimeoutError, redis.exceptions.BusyLoadingError)


class _Pipeline(Pipeline):
    """A pipeline that says so when the store is away."""

    def execute(self, raise_on_error: bool = True) -> list[Any]:
        """Send the batch."""
        try:
            return super().execute(raise_on_error)
        except _UNREACHABLE as error:
            raise StoreUnavailableError(f"the store does not answer: {error}") from error


class _Client(redis.Redis):
    """A client that says so when the store is away."""

    def execute_command(self, *args: Any, **options: Any) -> Any:
        """Send one command."""
        try:
            return super().execute_command(*args, **options)  # type: ignore[no-untyped-call] # redis-py has no type here
        except _UNREACHABLE as error:
            raise StoreUnavailableError(f"the store does not answer: {error}") from error

    def pipeline(self, transaction: bool = True, shard_hint: str | None = None) -> _Pipeline:
        """A batch of commands, atomic where ``transaction``."""
        return _Pipeline(self.connection_pool, self.response_callbacks, transaction, shard_hint)


StoreClient: TypeAlias = Any
"""What :func:`connect` returns; redis-py's types describe raw and decoded replies at once, so they say nothing here."""


def connect(url: str, *, max_connections: int = 64) -> StoreClient:
    """A client for ``redis://``, ``rediss://`` or ``unix://``; it connects on first use and is safe among threads."""
    return _Client.from_url(
        url,
        decode_responses=True,
        max_connections=max_connections,
        socket_timeout=20,
        socket_connect_timeout=5,
        retry=Retry(ExponentialBackoff(cap=0.5, base=0.05), 3),
    )
