"""A connection whose failures are the project's own error."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeAlias

import redis
from redis.backoff import ExponentialBackoff
from redis.client import Pipeline
from redis.retry import Retry

from jqueuer.adapters import tls
from jqueuer.errors import StoreUnavailableError

_UNREACHABLE = (redis.ConnectionError, redis.TimeoutError, redis.exceptions.BusyLoadingError)
_TAKES_NOTHING = ("MISCONF", "OOM", "READONLY", "NOREPLICAS", "MASTERDOWN", "BUSY ")
"""Refusals that pass: its disk or memory is full, its replicas change their roles, or a script takes long."""


class _Pipeline(Pipeline):
    """A pipeline that says so when the store is away."""

    def execute(self, raise_on_error: bool = True) -> list[Any]:
        """Send the batch."""
        try:
            return super().execute(raise_on_error)
        except _UNREACHABLE as error:
            raise _away(error) from error
        except redis.ResponseError as error:
            if not _passes(error):
                raise
            raise StoreUnavailableError(f"the store does not take anything now: {error}") from error


class _Client(redis.Redis):
    """A client that says so when the store is away."""

    def execute_command(self, *args: Any, **options: Any) -> Any:
        """Send one command."""
        try:
            return super().execute_command(*args, **options)  # type: ignore[no-untyped-call] # redis-py has no type here
        except _UNREACHABLE as error:
            raise _away(error) from error
        except redis.ResponseError as error:
            if not _passes(error):
                raise
            raise StoreUnavailableError(f"the store does not take anything now: {error}") from error

    def pipeline(self, transaction: bool = True, shard_hint: str | None = None) -> _Pipeline:
        """A batch of commands, atomic where ``transaction``."""
        return _Pipeline(self.connection_pool, self.response_callbacks, transaction, shard_hint)


def _away(error: Exception) -> StoreUnavailableError:
    return StoreUnavailableError(f"the store does not answer: {error}{tls.hint(error)}")


def _passes(error: redis.ResponseError) -> bool:
    """Whether it will be otherwise later, and nobody's mistake."""
    known = isinstance(error, redis.exceptions.OutOfMemoryError | redis.exceptions.ReadOnlyError)
    return known or any(word in str(error) for word in _TAKES_NOTHING)


StoreClient: TypeAlias = Any
"""What :func:`connect` returns; redis-py's types describe raw and decoded replies at once, so they say nothing here."""


def run_each(client: StoreClient, script: Any, keys: Sequence[Sequence[str]], arguments: Sequence[Any]) -> list[Any]:
    """Run a registered script once for each list of keys, in one round trip; the server may have to learn it first."""

    def ask() -> list[Any]:
        with client.pipeline(transaction=False) as batch:
            for names in keys:
                batch.evalsha(script.sha, len(names), *names, *arguments)
            return list(batch.execute())

    try:
        return ask()
    except redis.exceptions.NoScriptError:
        client.script_load(script.script)
        return ask()


def connect(url: str, *, max_connections: int = 64, ca_file: Path | None = None) -> StoreClient:
    """A client for ``redis://``, ``rediss://`` or ``unix://``; it connects on first use and is safe among threads.

    ``ca_file`` has the certificates by which a store behind ``rediss://`` is known, if not by those of the system.
    """
    return _Client.from_url(
        url,
        decode_responses=True,
        max_connections=max_connections,
        socket_timeout=20,
        socket_connect_timeout=5,
        retry=Retry(ExponentialBackoff(cap=0.5, base=0.05), 3),
        **tls.store_options(url, ca_file),
    )
