"""A job whose message arrives while the store is away."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from celery.worker import state

from jqueuer.adapters.celery_worker import NotBegunError
from jqueuer.adapters.directory_artifacts import DirectoryArtifacts
from jqueuer.adapters.redis_store import RedisExperimentStore, RedisJobLedger, connect
from jqueuer.adapters.valkey import ValkeyServer
from jqueuer.model import Experiment, Job
from jqueuer.records import ExperimentRecord
from jqueuer.settings import Settings
from jqueuer.states import ExperimentState
from jqueuer_agent.adapters.local_workplace import LocalWorkplace
from jqueuer_agent.adapters.statsd_events import StatsdEvents
from jqueuer_agent.container_manager import ContainerManager, ContainerSpec
from jqueuer_agent.lease import LeaseKeeper
from jqueuer_agent.slots import Slots

X = "sweep-aaaaaa"


@pytest.fixture
def store(tmp_path: Path) -> Iterator[ValkeyServer]:
    with ValkeyServer(tmp_path / "store") as server:
        yield server


@pytest.fixture
def manager(store: ValkeyServer, tmp_path: Path) -> ContainerManager:
    """Of a container of a paused experiment with the job a: whoever can ask for it learns that it is not to be run."""
    settings, client, experiment = Settings(state_dir=tmp_path), connect(store.store_url), Experiment()
    experiments, ledger = RedisExperimentStore(client), RedisJobLedger(client)
    experiments.create(
        ExperimentRecord(id=X, description=experiment, state=ExperimentState.RECEIVING, created_at=experiments.now())
    )
    ledger.add(X, [Job.model_validate({"id": "a", "command": ["true"]})])
    experiments.accept(X)
    assert experiments.move(X, [ExperimentState.RUNNING], ExperimentState.PAUSED)
    workplace = LocalWorkplace(tmp_path / "container", {"PATH": "/usr/bin:/bin"})
    executor, workspace, environment = workplace.open(experiment, settings)
    return ContainerManager(
        spec=ContainerSpec("c1", X, "n1", workplace),
        settings=settings,
        experiment=experiment,
        ledger=ledger,
        artifacts=DirectoryArtifacts(tmp_path),
        keeper=LeaseKeeper(settings.heartbeat_seconds),
        executor=executor,
        workspace=workspace,
        base_environment=environment,
        events=StatsdEvents("", 0),
        slots=Slots(tmp_path / "slots", 1),
        abandoned=threading.Event(),
    )


def test_it_is_asked_for_until_the_store_is_back(store: ValkeyServer, manager: ContainerManager) -> None:
    """Else its worker would take one message after the other until the queue is empty."""
    store.kill()
    with ThreadPoolExecutor(1) as hands:
        handled = hands.submit(manager.handle, X, "a")
        with pytest.raises(TimeoutError):
            handled.result(2)
        store.start()
        assert handled.result(30) is None


def test_it_is_put_back_where_its_worker_is_to_stop(
    store: ValkeyServer, manager: ContainerManager, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.kill()
    with ThreadPoolExecutor(1) as hands:
        handled = hands.submit(manager.handle, X, "a")
        with pytest.raises(TimeoutError):
            handled.result(2)
        monkeypatch.setattr(state, "should_stop", 0)
        with pytest.raises(NotBegunError):
            handled.result(30)
