"""A job at work while the manager, to whom it brings its logs and outputs, is away."""

from __future__ import annotations

import base64
import multiprocessing
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from jqueuer.adapters.directory_artifacts import DirectoryArtifacts
from jqueuer.adapters.http_artifacts import HttpArtifacts
from jqueuer.adapters.processes import adopt_orphans
from jqueuer.adapters.redis_store import RedisExperimentStore, RedisJobLedger, connect
from jqueuer.adapters.redis_store.connection import StoreClient
from jqueuer.adapters.valkey import ValkeyServer
from jqueuer.model import Experiment, Job
from jqueuer.records import JobRecord
from jqueuer.states import ExperimentState, JobState
from jqueuer_agent.adapters.local_executor import LocalExecutor
from jqueuer_agent.adapters.local_workspace import LocalWorkspace
from jqueuer_agent.lease import Lease, LeaseKeeper
from jqueuer_agent.life_cycle import JobRun, OutputLimits
from tests.contract.agents_manager import LOG_LIMIT_BYTES, OUTPUT_LIMIT_BYTES, TOKEN, manager_app, served
from tests.ports import free_port

Wait = Callable[..., None]
LEASE_SECONDS = 1.0
HEARTBEAT_SECONDS = 0.1
PRINTED = b"".join(b"%07d\n" % number for number in range(10_000))


def run_job(store_url: str, manager_url: str, directory: Path) -> None:
    """What a container manager does with one message, in a process of its own."""
    adopt_orphans()
    ledger = RedisJobLedger(connect(store_url), lease_seconds=LEASE_SECONDS)
    claim = ledger.claim("x", "job", container="c1", node="n1")
    assert claim is not None
    artifacts = HttpArtifacts(manager_url, TOKEN)
    run = JobRun(
        claim=claim,
        experiment=Experiment(),
        executor=LocalExecutor(heartbeat_seconds=HEARTBEAT_SECONDS),
        workspace=LocalWorkspace(directory),
        artifacts=artifacts,
        limits=OutputLimits(LOG_LIMIT_BYTES, 2 * OUTPUT_LIMIT_BYTES, 10),
        base_environment={"PATH": "/usr/bin:/bin"},
        lease=Lease(lambda: ledger.renew(claim)),
        keeper=LeaseKeeper(HEARTBEAT_SECONDS),
        earlier_outputs=lambda: iter(()),
    )
    ending = run.run()
    ledger.finish(claim, ending.attempt, retry=ending.retry)


class World:
    """An experiment with one job, an agent's process, and a manager that can be switched on."""

    def __init__(self, client: StoreClient, valkey: ValkeyServer, tmp_path: Path) -> None:
        self.keeper = DirectoryArtifacts(tmp_path / "artifacts")
        self.app = manager_app(self.keeper, client, valkey.broker_url)
        self.ledger = RedisJobLedger(client, lease_seconds=LEASE_SECONDS)
        self.experiments = RedisExperimentStore(client)
        self.port = free_port()
        self._arguments = (valkey.store_url, f"http://127.0.0.1:{self.port}", tmp_path / "container")
        self.process: Any = None
        self.stack = ExitStack()

    def start(self, line: str, **more: object) -> None:
        self.ledger.add("x", [Job.model_validate({"id": "job", "command": {"shell": line}, **more})])
        self.process = multiprocessing.get_context("spawn").Process(target=run_job, args=self._arguments)
        self.process.start()

    def manager_comes(self) -> None:
        self.stack.enter_context(served(self.app, self.port))

    def outlives(self, seconds: float, eventually: Wait) -> None:
        """So much time by the store's clock goes by, and the lease is kept."""
        end = self.experiments.now() + seconds
        eventually(lambda: self.ledger.reap("x") or self.experiments.now() > end)

    def job(self) -> JobRecord:
        return self.ledger.job("x", "job")


@pytest.fixture
def world(client: StoreClient, valkey: ValkeyServer, tmp_path: Path) -> Iterator[World]:
    world = World(client, valkey, tmp_path)
    yield world
    world.process.kill()
    world.process.join()
    world.stack.close()


def test_it_loses_neither_its_lease_nor_anything_it_wrote(world: World, tmp_path: Path, eventually: Wait) -> None:
    program = base64.b64encode(PRINTED).decode()
    world.start(f"echo {program} | base64 -d; echo result > result; touch {tmp_path}/done", outputs=["result"])
    eventually((tmp_path / "done").exists)
    world.outlives(3 * LEASE_SECONDS, eventually)
    assert world.job().state is JobState.RUNNING
    world.manager_comes()
    eventually(lambda: world.job().state.terminal)
    assert world.job().state is JobState.ACCOMPLISHED
    [attempt] = world.job().attempts
    assert (attempt.stdout.total_bytes, attempt.stdout.truncated) == (len(PRINTED), False)
    assert world.keeper.read_log("x", "job", 1, "stdout", 0, 1_000_000) == (PRINTED, len(PRINTED))
    assert [output.path for output in attempt.outputs] == ["result"]
    with world.keeper.open_output("x", "job", 1, "result") as file:
        assert file.read() == b"result\n"


def test_it_waits_for_its_inputs(world: World, eventually: Wait, tmp_path: Path) -> None:
    sha256 = "5891b5b522d5df086d0ff0b110fbd9d21bb4fc7163af34d08286a2e846f6be03"
    (tmp_path / "hello").write_bytes(b"hello\n")
    with (tmp_path / "hello").open("rb") as file:
        world.keeper.put_input(sha256, file)
    world.start("cat input", inputs=[{"path": "input", "sha256": sha256}])
    eventually(lambda: world.job().state is JobState.RUNNING)
    world.outlives(2 * LEASE_SECONDS, eventually)
    world.manager_comes()
    eventually(lambda: world.job().state.terminal)
    assert world.job().state is JobState.ACCOMPLISHED
    assert world.job().attempts[0].stdout.inline == base64.b64encode(b"hello\n").decode()


def test_it_gives_up_once_it_is_cancelled(world: World, tmp_path: Path, eventually: Wait) -> None:
    world.start(f"echo result > result; touch {tmp_path}/done", outputs=["result"])
    eventually((tmp_path / "done").exists)
    world.experiments.move("x", (ExperimentState.RUNNING,), ExperimentState.CANCELLED)
    eventually(lambda: world.job().state.terminal)
    assert world.job().state is JobState.CANCELLED


def test_what_the_manager_refuses_fails_the_job_with_its_reason(world: World, eventually: Wait) -> None:
    world.manager_comes()
    world.start(f"head -c {OUTPUT_LIMIT_BYTES + 1} /dev/zero > result", outputs=["result"])
    eventually(lambda: world.job().attempts and world.job().attempts[0].outcome)
    [attempt] = world.job().attempts
    assert attempt.outcome == "failed"
    assert "an output could not be kept" in attempt.reason
    assert "the limit here" in attempt.reason
