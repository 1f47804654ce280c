"""The agent process where not everything it needs is there yet."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from jqueuer.adapters.directory_artifacts import DirectoryArtifacts
from jqueuer.adapters.redis_store import RedisContainerRegistry, connect
from jqueuer.adapters.redis_store.connection import StoreClient
from jqueuer.adapters.redis_store.versions import upgrade
from jqueuer.adapters.valkey import ValkeyServer
from tests.contract.agents_manager import TOKEN, manager_app, served
from tests.ports import free_port


@pytest.mark.parametrize("missing", ["store", "engine"])
def test_an_agent_waits_for_what_is_not_there_yet_and_says_so_once(
    missing: str, valkey: ValkeyServer, tmp_path: Path, eventually: Callable[..., None]
) -> None:
    """Services of a stack start in any order; it goes when it is told to."""
    with connect(valkey.store_url) as client:
        upgrade(client)  # as the manager does
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


def with_a_manager(valkey: ValkeyServer, tmp_path: Path, manager_url: str, token: str) -> dict[str, str]:
    return {
        **os.environ,
        "JQUEUER_ENGINE": "local",
        "JQUEUER_STORE_URL": valkey.store_url,
        "JQUEUER_BROKER_URL": valkey.broker_url,
        "JQUEUER_STATE_DIR": str(tmp_path / "state"),
        "JQUEUER_MANAGER_URL": manager_url,
        "JQUEUER_AGENT_TOKEN": token,
    }


@pytest.mark.parametrize(
    ("managers", "agents", "status"),
    [(TOKEN, "another", 401), (TOKEN, "", 401), ("", TOKEN, 403)],
    ids=["another token", "no token", "none known to the manager"],
)
def test_an_agent_that_the_manager_does_not_let_in_refuses_to_start(
    managers: str, agents: str, status: int, client: StoreClient, valkey: ValkeyServer, tmp_path: Path
) -> None:
    """It would take jobs and could never deliver what they bring."""
    app = manager_app(DirectoryArtifacts(tmp_path / "artifacts"), client, valkey.broker_url, token=managers)
    with served(app) as url:
        environment = with_a_manager(valkey, tmp_path, url, agents)
        agent = subprocess.run(
            [sys.executable, "-m", "jqueuer_agent"], env=environment, capture_output=True, text=True, timeout=60
        )
    assert agent.returncode == 3
    assert agent.stderr.splitlines() == [
        f"jqueuer agent: the manager at {url} does not let this agent in ({status}): set JQUEUER_AGENT_TOKEN to the "
        "same value for the manager and for every agent, then start the agent again"
    ]


@pytest.mark.parametrize("manager_is", ["there", "away"])
def test_an_agent_starts_where_the_manager_lets_it_in_or_does_not_answer_yet(
    manager_is: str, client: StoreClient, valkey: ValkeyServer, tmp_path: Path, eventually: Callable[..., None]
) -> None:
    """Jobs that bring nothing can be run meanwhile."""
    app = manager_app(DirectoryArtifacts(tmp_path / "artifacts"), client, valkey.broker_url)
    registry = RedisContainerRegistry(client)
    log = tmp_path / "log"
    with served(app) as there, log.open("wb") as output:
        url = there if manager_is == "there" else f"http://127.0.0.1:{free_port()}"
        environment = {**with_a_manager(valkey, tmp_path, url, TOKEN), "JQUEUER_NODE": "n1"}
        agent = subprocess.Popen([sys.executable, "-m", "jqueuer_agent"], env=environment, stderr=output)
        try:
            registry.request("x", 1)
            eventually(lambda: registry.observed("x") or agent.poll() is not None)
            assert agent.poll() is None
        finally:
            registry.withdraw("x")
            agent.send_signal(signal.SIGTERM)
            assert agent.wait(30) == 0
    said = [line for line in log.read_text().splitlines() if "logs and outputs have to wait" in line]
    assert len(said) == (0 if manager_is == "there" else 1)
    assert all(f"the manager at {url} does not answer" in line for line in said)
