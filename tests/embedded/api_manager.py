"""A manager's API over a real store, served by a real HTTP server; the tests of the API share these fixtures."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
import requests
from pydantic import SecretStr
from werkzeug.serving import make_server

from jqueuer.access import Role
from jqueuer.adapters.celery_queue import CeleryJobQueue, celery_app
from jqueuer.adapters.directory_artifacts import DirectoryArtifacts
from jqueuer.adapters.redis_store import (
    RedisContainerRegistry,
    RedisExperimentStore,
    RedisJobLedger,
    RedisOutbox,
    RedisSessionStore,
    RedisTokenStore,
)
from jqueuer.adapters.redis_store.connection import StoreClient
from jqueuer.adapters.valkey import ValkeyServer
from jqueuer.client import Client
from jqueuer.errors import StoreUnavailableError
from jqueuer.model import Job
from jqueuer.records import Attempt, LogRecord, OutputFile
from jqueuer.settings import Settings
from jqueuer.signing import MessageSigner
from jqueuer.states import AttemptOutcome, ExperimentState
from jqueuer_manager.adapters.local_orchestrator import LocalOrchestrator
from jqueuer_manager.api import create_app
from jqueuer_manager.services import Services

LIMIT_BYTES = 2_000_000
ADMIN = "jq_the-administrators-own"
AS_ADMIN = {"Authorization": f"Bearer {ADMIN}"}


@dataclass(frozen=True)
class Manager:
    """The served API, its ports, and an administrator's client and session."""

    url: str
    services: Services
    api: Client
    http: requests.Session

    def client_of(self, name: str, role: Role = Role.SUBMITTER) -> Client:
        """A client with a token of its own."""
        return Client(self.url, token=self.api.make_token(name, role.value)["token"])

    def submit(self, text: str) -> str:
        """Submit a description in YAML; the id."""
        return str(self.api.submit_bytes(text.encode())["id"])

    def submit_jobs(self, count: int, head: str = "name: t") -> str:
        jobs = "\n".join(f"- {{id: j{number}, tasks: [{{command: ['true']}}]}}" for number in range(count))
        return self.submit(f"{head}\njobs:\n{jobs}\n")

    def run(
        self,
        experiment_id: str,
        job_id: str,
        *,
        outcome: AttemptOutcome = AttemptOutcome.ACCOMPLISHED,
        stdout: LogRecord | None = None,
        outputs: tuple[OutputFile, ...] = (),
        retry: bool = False,
    ) -> int:
        """Do what an agent does to one job; the attempt's number."""
        ledger = self.services.ledger
        claim = ledger.claim(experiment_id, job_id, container="c1", node="n1")
        assert claim is not None
        failed = outcome is not AttemptOutcome.ACCOMPLISHED
        attempt = Attempt(
            number=claim.token,
            container="c1",
            node="n1",
            started_at=claim.started_at,
            finished_at=claim.started_at + 2.0,
            outcome=outcome,
            exit_code=1 if failed else 0,
            reason="it broke" if failed else "",
            stdout=stdout or LogRecord(),
            outputs=outputs,
        )
        assert ledger.finish(claim, attempt, retry=retry) is not None
        return claim.token

    def keep_output(
        self, tmp_path: Path, experiment_id: str, job_id: str, attempt: int, path: str, data: bytes
    ) -> OutputFile:
        """Do what an agent does to one output file."""
        source = tmp_path / "collected"
        source.write_bytes(data)
        return self.services.artifacts.put_output(experiment_id, job_id, attempt, path, source)

    def end(self, experiment_id: str, state: ExperimentState) -> None:
        """Do what the controller does at the end."""
        assert self.services.experiments.move(experiment_id, tuple(ExperimentState), state)
        self.services.experiments.settle(experiment_id)

    def post_command(self, experiment_id: str) -> None:
        """Do what the controller does after the last job."""
        job = Job.model_validate({"id": "post", "tasks": [{"command": ["true"]}]})
        self.services.ledger.add_post(experiment_id, job)

    def nothing_remains(self) -> bool:
        """Whether no experiment is there, not even half of one."""
        store = self.services.experiments
        return store.page()[1] == 0 and not store.unfinished_receipts() and not store.active()


@pytest.fixture
def services(client: StoreClient, valkey: ValkeyServer, tmp_path: Path) -> Services:
    """The manager's ports, all real."""

    def ready() -> tuple[bool, str]:
        try:
            client.ping()
        except StoreUnavailableError as error:
            return False, str(error)
        return True, ""

    return Services(
        settings=Settings(
            admin_token=SecretStr(ADMIN), max_body_bytes=LIMIT_BYTES, max_input_bytes=LIMIT_BYTES, max_jobs=5000
        ),
        experiments=RedisExperimentStore(client),
        ledger=RedisJobLedger(client),
        queue=CeleryJobQueue(celery_app(valkey.broker_url), MessageSigner("")),
        orchestrator=LocalOrchestrator(RedisContainerRegistry(client)),
        artifacts=DirectoryArtifacts(tmp_path / "artifacts"),
        tokens=RedisTokenStore(client),
        sessions=RedisSessionStore(client),
        outbox=RedisOutbox(client),
        ready=ready,
    )


@contextmanager
def served(services: Services) -> Iterator[Manager]:
    """The API of these services on a free port."""
    server = make_server("127.0.0.1", 0, create_app(services), threaded=True)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    url = f"http://127.0.0.1:{server.server_port}"
    try:
        with Client(url, token=ADMIN) as api, requests.Session() as http:
            http.headers.update(AS_ADMIN)
            yield Manager(url, services, api, http)
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.fixture
def manager(services: Services) -> Iterator[Manager]:
    """The API on a free port."""
    with served(services) as manager:
        yield manager
