"""A real system to send bad input to, with a good experiment beside it of which nothing may be lost."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from jqueuer.adapters.redis_store import RedisExperimentStore, connect
from jqueuer.adapters.valkey import ValkeyServer
from jqueuer.client import Client
from jqueuer.embedded import Embedded
from jqueuer.states import ExperimentState
from tests.embedded.running import QUICK, System

LOG_BYTES = 200_000
OUTPUT_BYTES = 5_000_000
_LIMITS = {
    "JQUEUER_MAX_LOG_BYTES": str(LOG_BYTES),
    "JQUEUER_MAX_OUTPUT_BYTES": str(OUTPUT_BYTES),
    "JQUEUER_MAX_OUTPUT_FILES": "20",
    "JQUEUER_MAX_REFUSED_LOGINS": "100000",
    "JQUEUER_LEASE_SECONDS": "30s",
}
_JOBS_BESIDE = 20


@pytest.fixture(scope="package")
def system(tmp_path_factory: pytest.TempPathFactory) -> Iterator[System]:
    """One system for the whole corpus: what one case does to it, those after it see."""
    directory = tmp_path_factory.mktemp("bad-input")
    with (
        Embedded(directory, settings={**QUICK, **_LIMITS}) as embedded,
        Client(embedded.url, token=embedded.token) as api,
    ):
        yield System(embedded, api)


@pytest.fixture(scope="module")
def nothing_lost(system: System, tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Beside each kind of bad input a good experiment runs: it ends complete, and the store is consistent."""
    gate = tmp_path_factory.mktemp("gate") / "open"
    jobs = "\n".join(f"- {{id: j{number}, command: ['true']}}" for number in range(_JOBS_BESIDE))
    waits = f"- {{id: waits, command: {{shell: 'until [ -e {gate} ]; do sleep 0.1; done'}}}}"
    beside = system.submit(f"name: beside\ncontainers: {{max: 2}}\njobs:\n{waits}\n{jobs}\n")
    yield
    gate.touch()
    system.api.wait(beside, poll_seconds=0.05)
    summary, total = system.api.summary(beside), _JOBS_BESIDE + 1
    assert summary["jobs"] == {"total": total, "accomplished": total, "failed": 0, "cancelled": 0}
    assert (summary["attempts"], summary["killed"]) == (total, 0)
    assert_consistent(system)


def assert_consistent(system: System) -> None:
    """Counts add up, what has ended is settled and has no open job, and nothing half-received is left."""
    for experiment in system.api.experiments():
        counts = dict(experiment["jobs"])
        assert counts.pop("total") == sum(counts.values()), experiment
        if ExperimentState(experiment["state"]).terminal:
            assert counts["queued"] == counts["running"] == 0, experiment
    store = ValkeyServer(Path(system.embedded.state_dir) / "store")
    with connect(store.store_url) as client:
        assert not RedisExperimentStore(client).unfinished_receipts()
