"""The agent process where not everything it needs is there yet."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from jqueuer.adapters.valkey import ValkeyServer


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.mark.parametrize("missing", ["store", "engine"])
def test_an_agent_waits_for_what_is_not_there_yet_and_says_so_once(
    missing: str, valkey: ValkeyServer, tmp_path: Path, eventually: Callable[..., None]
) -> None:
    """Services of a stack start in any order; it goes when it is told to."""
    store_url = f"redis://127.0.0.1:{free_port()}/0" if missing == "store" else valkey.store_url
    environment = {
        **os.environ,
        "JQUEUER_ENGINE": "docker",
        "JQUEUER_STORE_URL": store_url,
        "JQUEUER_BROKER_URL": valkey.broker_url,
        "JQUEUER_DOCKER_URL": f"unix://{tmp_path}/nobody.sock",
        "JQUEUER_STATE_DIR": str(tmp_path / "state"),
    }
    log = tmp_path / "log"
    with log.open("wb") as output:
        agent = subprocess.Popen([sys.executable, "-m", "jqueuer_agent"], env=environment, stderr=output)
    try:
        eventually(lambda: b"waiting" in log.read_bytes() or agent.poll() is not None)
        with pytest.raises(subprocess.TimeoutExpired):
            agent.wait(3.0)
    finally:
        agent.send_signal(signal.SIGTERM)
        assert agent.wait(30) == 0
    lines = log.read_text().splitlines()
    assert len(lines) == 1
    assert missing in lines[0]
    assert "does not answer" in lines[0]
