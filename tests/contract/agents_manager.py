"""A manager that agents bring their artifacts to, served over HTTP; it knows the experiments x and y."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from flask import Flask
from pydantic import SecretStr
from werkzeug.serving import make_server

from jqueuer.adapters.celery_queue import CeleryJobQueue, celery_app
from jqueuer.adapters.directory_artifacts import DirectoryArtifacts
from jqueuer.adapters.http_artifacts import HttpArtifacts
from jqueuer.adapters.redis_store import (
    RedisContainerRegistry,
    RedisExperimentStore,
    RedisJobLedger,
    RedisOutbox,
    RedisSessionStore,
    RedisTokenStore,
)
from jqueuer.adapters.redis_store.connection import StoreClient
from jqueuer.adapters.redis_store.versions import upgrade
from jqueuer.errors import NotFoundError
from jqueuer.model import Experiment
from jqueuer.ports import AgentArtifacts, Artifacts
from jqueuer.records import ExperimentRecord
from jqueuer.settings import Settings
from jqueuer.signing import MessageSigner
from jqueuer.states import ExperimentState
from jqueuer_manager.adapters.local_orchestrator import LocalOrchestrator
from jqueuer_manager.api import create_app
from jqueuer_manager.services import Services

TOKEN = "agents' own"
OUTPUT_LIMIT_BYTES = 3_000_000
LOG_LIMIT_BYTES = 100_000


def manager_app(keeper: Artifacts, client: StoreClient, broker_url: str, token: str = TOKEN) -> Flask:
    """The manager's application over the keeper; agents have to show the token."""
    upgrade(client)
    experiments = RedisExperimentStore(client)
    for name in ("x", "y"):
        try:
            experiments.get(name)
        except NotFoundError:
            experiments.create(
                ExperimentRecord(
                    id=name, description=Experiment(), state=ExperimentState.RECEIVING, created_at=experiments.now()
                )
            )
            experiments.accept(name)
    return create_app(
        Services(
            settings=Settings(
                agent_token=SecretStr(token), max_output_bytes=OUTPUT_LIMIT_BYTES, max_log_bytes=LOG_LIMIT_BYTES
            ),
            experiments=experiments,
            ledger=RedisJobLedger(client),
            queue=CeleryJobQueue(celery_app(broker_url), MessageSigner(token)),
            orchestrator=LocalOrchestrator(RedisContainerRegistry(client)),
            artifacts=keeper,
            tokens=RedisTokenStore(client),
            sessions=RedisSessionStore(client),
            outbox=RedisOutbox(client),
            ready=lambda: (True, ""),
        )
    )


@contextmanager
def served(app: Flask, port: int = 0) -> Iterator[str]:
    server = make_server("127.0.0.1", port, app, threaded=True)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.fixture
def keeper(tmp_path: Path) -> DirectoryArtifacts:
    """Where the bytes lie: what the manager sees of them."""
    return DirectoryArtifacts(tmp_path / "artifacts")


@pytest.fixture(params=["directory", "http"])
def artifacts(request: pytest.FixtureRequest, keeper: DirectoryArtifacts) -> Iterator[AgentArtifacts]:
    """What an agent has of it: the directory itself, or a manager that keeps it."""
    if request.param == "directory":
        yield keeper
        return
    app = manager_app(keeper, request.getfixturevalue("client"), request.getfixturevalue("valkey").broker_url)
    with served(app) as url:
        over_http = HttpArtifacts(url, TOKEN)
        yield over_http
        over_http.close()
