"""A real store for whoever needs one: one server per session, emptied for each test."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from jqueuer.adapters.redis_store import connect
from jqueuer.adapters.redis_store.connection import StoreClient
from jqueuer.adapters.valkey import ValkeyServer


@pytest.fixture(scope="session")
def valkey(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ValkeyServer]:
    with ValkeyServer(tmp_path_factory.mktemp("valkey")) as server:
        yield server


@pytest.fixture
def client(valkey: ValkeyServer) -> Iterator[StoreClient]:
    with connect(valkey.store_url) as client:
        client.flushall()
        yield client


@pytest.fixture
def state_dir(tmp_path: Path) -> Path:
    return tmp_path / "state"


@pytest.fixture(scope="session")
def eventually() -> Callable[[Callable[[], object], float], None]:
    """Wait for a condition, looking every few milliseconds; fails after so many seconds."""
    import time

    def wait(condition: Callable[[], object], seconds: float = 20.0) -> None:
        deadline = time.monotonic() + seconds
        while not condition():
            assert time.monotonic() < deadline, f"did not become true within {seconds} s"
            time.sleep(0.005)

    return wait
