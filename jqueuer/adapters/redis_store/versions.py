"""The store's version: equal, older and upgraded, or newer and refused.

A store that holds experiments but says no version was written before there were versions; it is of version 1.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Final, TypeAlias

import structlog
from redis.exceptions import LockError

from jqueuer.adapters.redis_store.connection import StoreClient
from jqueuer.adapters.redis_store.experiments import EXPERIMENTS, RECEIVING, STORE_VERSION
from jqueuer.adapters.redis_store.migrations import STEPS
from jqueuer.errors import SettingsError, StoreUnavailableError

Renew: TypeAlias = Callable[[], object]

VERSION: Final = "jq:version"
UPGRADING: Final = "jq:upgrading"

_UNSAID: Final = 1
_LOCK_SECONDS: Final = 10.0
"""A manager that died while it upgraded holds up the next one for so long."""

log = structlog.get_logger()


def version_of(client: StoreClient) -> int | None:
    """The version of what the store holds; None where it holds nothing yet.

    :class:`~jqueuer.errors.SettingsError` where it was written by a newer JQueuer than this one.
    """
    said = client.get(VERSION)
    if said is None:
        return _UNSAID if client.exists(EXPERIMENTS, RECEIVING) else None
    if int(said) > STORE_VERSION:
        raise SettingsError(
            f"the store was written by a newer JQueuer (version {said}, this one knows {STORE_VERSION}): "
            "install that one, or restore a backup"
        )
    return int(said)


def require_current(client: StoreClient) -> None:
    """For those who do not upgrade: :class:`StoreUnavailableError` until a manager has."""
    version = version_of(client)
    if version is not None and version < STORE_VERSION:
        raise StoreUnavailableError(
            f"the store is of version {version}; the manager of this JQueuer upgrades it to {STORE_VERSION}"
        )


def upgrade(client: StoreClient) -> None:
    """Make the store one of this version, step by step.

    :class:`StoreUnavailableError` while somebody else does; whoever is cut short leaves the rest to the next.
    """
    version = version_of(client)
    if version is None:
        client.set(VERSION, STORE_VERSION, nx=True)
    elif version < STORE_VERSION:
        with _alone(client) as renew:
            for start in range(version_of(client) or _UNSAID, STORE_VERSION):
                log.info("upgrading the store", version=start, to=start + 1)
                run_step(client, start, renew)
                client.set(VERSION, start + 1)
                log.info("upgraded the store", version=start + 1)


def run_step(client: StoreClient, start: int, renew: Renew = lambda: None) -> None:
    """Upgrade the records from this version to the next; calls ``renew`` now and then."""
    for _ in STEPS[start](client):
        renew()


@contextlib.contextmanager
def _alone(client: StoreClient) -> Iterator[Renew]:
    lock = client.lock(UPGRADING, timeout=_LOCK_SECONDS)
    if not lock.acquire(blocking=False):
        raise StoreUnavailableError("another manager is upgrading the store, or has just died doing so")
    try:
        yield lock.reacquire
    except LockError as error:
        raise StoreUnavailableError(f"another manager took the upgrade over: {error}") from None
    finally:
        with contextlib.suppress(LockError):
            lock.release()
