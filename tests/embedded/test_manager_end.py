"""What is left of a manager that is killed makes room for the next one."""

from __future__ import annotations

from collections.abc import Callable
from http.client import HTTPConnection, HTTPException
from pathlib import Path

import requests

from jqueuer.adapters.redis_store.connection import StoreClient
from jqueuer.adapters.valkey import ValkeyServer
from tests.embedded.own_manager import own_manager
from tests.processes import descendants, is_there

GRACE_SECONDS = 10.0
"""So long requests that are under way are waited for."""


def test_a_worker_without_its_manager_lets_the_port_go_though_somebody_asks_all_the_time_by_one_connection(
    client: StoreClient, valkey: ValkeyServer, tmp_path: Path, eventually: Callable[..., None]
) -> None:
    """Otherwise the next manager cannot listen there until the grace period is over."""
    with own_manager(tmp_path, eventually, store_url=valkey.store_url, broker_url=valkey.broker_url) as manager:
        eventually(lambda: requests.get(f"{manager.url}/readyz", timeout=60).ok, 30)
        left = descendants(manager.process.pid)
        kept = HTTPConnection(*manager.address, timeout=60)
        manager.process.kill()

        def gone() -> bool:
            try:
                kept.request("GET", "/healthz")
                kept.getresponse().read()
            except (OSError, HTTPException):
                kept.close()
            return not any(is_there(pid) for pid in left)

        eventually(gone, 0.8 * GRACE_SECONDS)
