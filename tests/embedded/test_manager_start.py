"""A manager that is up before its store waits for it, alive."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import requests

from jqueuer.adapters.valkey import ValkeyServer
from tests.embedded.api_manager import ADMIN, AS_ADMIN


def test_a_manager_waits_for_its_store_alive_but_not_ready(state_dir: Path, eventually: Callable[..., None]) -> None:
    store = ValkeyServer(state_dir / "store")
    announcement = state_dir / "manager.json"
    environment = {
        "JQUEUER_STORE_URL": store.store_url,
        "JQUEUER_BROKER_URL": store.broker_url,
        "JQUEUER_STATE_DIR": str(state_dir),
        "JQUEUER_PORT": "0",
        "JQUEUER_ADMIN_TOKEN": ADMIN,
    }
    state_dir.mkdir()
    with (state_dir / "log").open("wb") as log:
        manager = subprocess.Popen([sys.executable, "-m", "jqueuer_manager"], env=os.environ | environment, stderr=log)
    try:
        eventually(lambda: announcement.exists() or manager.poll() is not None, 30)
        url = json.loads(announcement.read_text())["url"]

        def status(path: str) -> int:
            return requests.get(f"{url}{path}", headers=AS_ADMIN, timeout=30).status_code

        def words() -> str:
            return (state_dir / "log").read_text()

        eventually(lambda: "the store is away; waiting for it" in words(), 30)
        assert [status("/healthz"), status("/readyz"), status("/api/v1/experiments")] == [200, 503, 503]
        with store:
            eventually(lambda: status("/readyz") == 200, 30)
            assert status("/api/v1/experiments") == 200
            assert words().count("the store is away") == 1
            manager.terminate()
            assert manager.wait(30) == 0
    finally:
        manager.kill()
        manager.wait()
