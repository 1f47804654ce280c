"""What fuzzing the API takes: the document, what is expected of it, and a manager with something in it."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import requests
import schemathesis
from schemathesis.config import SchemathesisConfig

from jqueuer.adapters.directory_artifacts import DirectoryArtifacts
from jqueuer.adapters.redis_store import RedisExperimentStore, RedisJobLedger, connect
from jqueuer.adapters.redis_store.connection import StoreClient
from jqueuer.adapters.valkey import ValkeyServer
from jqueuer.client import Client
from jqueuer.records import Attempt, LogRecord
from jqueuer.settings import Settings
from jqueuer.states import AttemptOutcome, ExperimentState
from jqueuer_manager.api import create_app
from jqueuer_manager.composition import compose
from tests.embedded.own_manager import Eventually, OwnManager, own_manager

DOCUMENT: Final = "/api/v1/openapi.json"
AGENTS: Final = "agentToken"
AS_VIEWER: Final = "viewer"
AS_SUBMITTER: Final = "submitter"
DESCRIPTION: Final = {"name": "fuzzed", "jobs": [{"id": "a", "command": ["true"]}]}

_ADMIN_TOKEN: Final = "jq_the-administrators-own"
_AGENT_TOKEN: Final = "jq_the-agents-own"
_NOT_BY_SCHEMA: Final = {
    # What a schema allows may still make no sense; that is 422 with every fault, which this check does not know.
    "submitExperiment": "ids that differ, placeholders that exist, min ≤ max, dates there are: no matter of a schema",
    "quoteExperiment": "as for submitting",
    "add2018": "as for submitting, and any text may be sent",
    "changeExperiment": "a deadline to come, min ≤ max",
    "makeToken": "it expires after more than nothing, and 0s is nothing",
    "agentPutOutput": "a name that a file can have",
    "putFile": "content that has the checksum of its path",
}
_BY_THE_SERVER: Final = "414"
"""A first line beyond gunicorn's limit: a path or a query may be longer, character by character, than that."""
_BEYOND_A_LIMIT: Final = "413"
"""Limits are settings; the document has none of them."""
_WITHOUT_END: Final = "/api/v1/events"
_ACCEPTED: Final = ["2xx", "401", "403", "404", "409", _BEYOND_A_LIMIT, _BY_THE_SERVER]
_REFUSED: Final = ["400", "401", "403", "404", "409", "415", "422", _BEYOND_A_LIMIT, _BY_THE_SERVER]


def configuration(*, examples: int, shows_tokens: bool = True) -> SchemathesisConfig:
    """Every check on but where it is said above why not, nothing at random."""
    tokens = {"token": {"bearer": _ADMIN_TOKEN}, AGENTS: {"bearer": _AGENT_TOKEN}} if shows_tokens else {}
    return SchemathesisConfig.from_dict(
        {
            "seed": 1,
            "generation": {"deterministic": True, "max-examples": examples, "no-shrink": True},
            "auth": {"openapi": tokens} if tokens else {},
            "checks": {
                "positive_data_acceptance": {"expected-statuses": _ACCEPTED},
                "negative_data_rejection": {"expected-statuses": _REFUSED},
            },
            "operations": [
                {"include-operation-id": name, "checks": {"positive_data_acceptance": {"enabled": False}}}
                for name in _NOT_BY_SCHEMA
            ],
        }
    )


def document() -> dict[str, Any]:
    """What the API says about itself; it takes no store to say it."""
    nowhere = Settings(store_url="redis://127.0.0.1:1/0", broker_url="redis://127.0.0.1:1/1")
    found = create_app(compose(nowhere)).test_client().get(DOCUMENT).get_json()
    assert isinstance(found, dict)
    return found


def exact() -> dict[str, Any]:
    """The document without its words for "any other error": every status must be a documented one.

    And without events, of which an answer has no end; what is refused of them is drawn for :func:`strangers`.
    """
    found = document()
    del found["paths"][_WITHOUT_END]
    for item in found["paths"].values():
        for operation in item.values():
            operation["responses"].pop("default", None)
            operation["responses"][_BY_THE_SERVER] = {"description": "", "content": {"text/html": {}}}
    return found


def strangers() -> dict[str, Any]:
    """The document as who has no token reads it: what each operation takes is told apart, and never shown."""
    found = document()
    for item in found["paths"].values():
        for operation in item.values():
            operation["x-takes"] = operation.pop("security")
    del found["components"]["securitySchemes"]
    return found


@schemathesis.serializer("application/x-ndjson", "application/jsonl")
def lines(context: schemathesis.SerializationContext, value: Any) -> bytes:
    """Whatever was drawn, as it would be sent."""
    return value.encode("utf-8", "replace") if isinstance(value, str) else json.dumps(value).encode()


@dataclass(frozen=True)
class Fuzzed:
    """A manager process, and the store and the directory it works on."""

    process: OwnManager
    store: StoreClient
    state_dir: Path
    admin: str = _ADMIN_TOKEN
    agents: str = _AGENT_TOKEN

    @property
    def url(self) -> str:
        return self.process.url

    def words(self) -> str:
        return self.process.words()

    def places(self) -> list[dict[str, Any]]:
        """Path parameters of an experiment under way, one that was paused, and one that has ended."""
        with Client(self.url, token=self.admin) as api:
            experiments = [str(api.submit_bytes(json.dumps(DESCRIPTION).encode())["id"]) for _ in range(3)]
        _, paused, ended = experiments
        places = [
            {"experiment_id": each, "job_id": "a", "number": self._run(each), "path": "o.txt"} for each in experiments
        ]
        experiments_store = RedisExperimentStore(self.store)
        experiments_store.move(paused, tuple(ExperimentState), ExperimentState.PAUSED)
        experiments_store.move(ended, tuple(ExperimentState), ExperimentState.FAILED)
        experiments_store.settle(ended)
        return places

    def _run(self, experiment_id: str) -> int:
        """Do what an agent does to a job that fails."""
        ledger = RedisJobLedger(self.store)
        claim = ledger.claim(experiment_id, "a", container="c1", node="n1")
        assert claim is not None
        made = self.state_dir / f"made-{experiment_id}"
        made.write_bytes(b"out")
        output = DirectoryArtifacts(self.state_dir).put_output(experiment_id, "a", claim.token, "o.txt", made)
        attempt = Attempt(
            number=claim.token,
            container="c1",
            node="n1",
            started_at=claim.started_at,
            finished_at=claim.started_at + 1.0,
            outcome=AttemptOutcome.FAILED,
            exit_code=1,
            reason="task 1 ended with status 1",
            outputs=(output,),
            stdout=LogRecord(total_bytes=10, inline=base64.b64encode(b"0123456789").decode()),
        )
        assert ledger.finish(claim, attempt, retry=False) is not None
        return claim.token


@contextmanager
def fuzzed_manager(state_dir: Path, eventually: Eventually) -> Iterator[Fuzzed]:
    """A manager process on a store of its own."""
    with (
        ValkeyServer(state_dir / "store") as server,
        connect(server.store_url) as store,
        own_manager(
            state_dir / "manager",
            eventually,
            store_url=server.store_url,
            broker_url=server.broker_url,
            authentication="tokens",
            admin_token=_ADMIN_TOKEN,
            agent_token=_AGENT_TOKEN,
            max_refused_logins="1000000",
        ) as process,
    ):
        eventually(lambda: requests.get(f"{process.url}/readyz", timeout=30).ok, 30)
        yield Fuzzed(process, store, state_dir / "manager")
