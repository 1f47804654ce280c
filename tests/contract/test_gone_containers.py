"""What becomes of a job whose container ends with it, and of a container whose experiment is gone.

In an image without a shell nothing less than the container's end ends a job.
"""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, cast

import pytest

from jqueuer.adapters.celery_queue import CeleryJobQueue, celery_app
from jqueuer.adapters.redis_store import RedisExperimentStore, RedisJobLedger
from jqueuer.adapters.redis_store.connection import StoreClient
from jqueuer.adapters.valkey import ValkeyServer
from jqueuer.labels import CONTAINER_ID_LENGTH
from jqueuer.model import Experiment, Job
from jqueuer.records import Attempt, ExperimentRecord
from jqueuer.settings import Settings
from jqueuer.signing import MessageSigner
from jqueuer.states import AttemptOutcome, ExperimentState, JobState
from jqueuer_agent.adapters.docker import DockerWorkplace
from jqueuer_agent.container_manager import GONE_STATUS, ContainerSpec, manage_container
from tests.contract import engines
from tests.contract.executors import processes
from tests.contract.job_images import BARE
from tests.lab.node import Node

X = "sweep-aaaaaa"
SECONDS = 60.0
Wait = Callable[..., None]


class World:
    """A container of an image without a shell, its manager, and two jobs: ``first`` and ``next``."""

    def __init__(self, node: Node, client: StoreClient, valkey: ValkeyServer, directory: Path) -> None:
        self.container = BARE.start(node)
        self.ledger = RedisJobLedger(client)
        self._experiments = RedisExperimentStore(client)
        self._queue = CeleryJobQueue(celery_app(valkey.broker_url), MessageSigner(""))
        self._settings = Settings(
            store_url=valkey.store_url, broker_url=valkey.broker_url, state_dir=directory, docker_url=node.docker_url
        )
        self._ready = multiprocessing.get_context("spawn").Event()
        self._manager: Any = None

    def begin(self, **first: object) -> None:
        """Both jobs are there, and the manager begins."""
        record = ExperimentRecord(
            id=X,
            description=Experiment(image=BARE.name),
            state=ExperimentState.RECEIVING,
            created_at=self._experiments.now(),
        )
        self._experiments.create(record)
        jobs = ({"id": "first", **first}, {"id": "next", "command": ["/bin/busybox", "true"]})
        self.ledger.add(X, [Job.model_validate(job) for job in jobs])
        self._experiments.accept(X)
        self._queue.publish(X, ["first", "next"])
        container_id = str(self.container.id)[:CONTAINER_ID_LENGTH]
        spec = ContainerSpec(container_id, X, "node1", DockerWorkplace(container_id, self._settings.docker_url))
        self._manager = multiprocessing.get_context("spawn").Process(
            target=manage_container, args=(spec, self._settings, self._ready)
        )
        self._manager.start()

    def end(self) -> int | None:
        """How the manager ended."""
        self._manager.join(SECONDS)
        return cast("int | None", self._manager.exitcode)

    def attempt(self) -> Attempt:
        [attempt] = self.ledger.job(X, "first").attempts
        return attempt

    def close(self) -> None:
        if self._manager is not None:
            self._manager.kill()
            self._manager.join()
        self.container.remove(force=True)


@pytest.fixture
def world(job_node: Node, client: StoreClient, valkey: ValkeyServer, tmp_path: Path) -> Iterator[World]:
    world = World(job_node, client, valkey, tmp_path)
    yield world
    world.close()


@pytest.mark.parametrize("post_job", [None, ["/bin/busybox", "echo", "clean"]], ids=["alone", "post-job"])
def test_a_job_that_ended_its_container_keeps_its_outcome(
    world: World, token: str, post_job: list[str] | None, eventually: Wait
) -> None:
    """And the container's manager goes without beginning another job, so that the container is replaced."""
    command = ["/bin/busybox", "sh", "-c", f"/bin/busybox echo begun; exec /bin/busybox sleep {token}"]
    world.begin(command=command, timeout=1, post_job=post_job)
    assert world.end() == GONE_STATUS
    attempt = world.attempt()
    assert (attempt.outcome, attempt.reason) == (AttemptOutcome.TIMED_OUT, "task 1: timed out after 1 s")
    assert attempt.stdout.total_bytes == len("begun\n")
    after = [(result.role, result.exit_code) for result in attempt.commands[1:]]
    assert after == ([] if post_job is None else [("post-job", None)])
    assert all("was ended" in result.problem for result in attempt.commands[1:])
    following = world.ledger.job(X, "next")
    assert (following.state, following.attempts) == (JobState.QUEUED, ())
    eventually(lambda: not processes(token), SECONDS)


def test_a_job_that_leaves_processes_behind_keeps_its_outcome_too(world: World, token: str) -> None:
    command = ["/bin/busybox", "sh", "-c", f"/bin/busybox setsid /bin/busybox sleep {token} & exit 0"]
    world.begin(command=command, post_job=["/bin/busybox", "true"])
    assert world.end() == GONE_STATUS
    assert world.attempt().outcome is AttemptOutcome.ACCOMPLISHED
    assert world.ledger.job(X, "next").attempts == ()
    assert not processes(token)


def test_a_container_that_dies_before_the_result_is_known_leaves_none(
    world: World, token: str, eventually: Wait
) -> None:
    """Whoever is given the job next begins anew."""
    world.begin(command=["/bin/busybox", "sleep", token], post_job=["/bin/busybox", "true"])
    eventually(lambda: processes(token), SECONDS)
    world.container.kill()
    assert world.end() == GONE_STATUS
    assert world.ledger.job(X, "first").state is JobState.RUNNING
    assert world.attempt().outcome is None


# The experiment is gone.


@pytest.fixture
def engine(job_node: Node, client: StoreClient, tmp_path: Path) -> Iterator[engines.DockerEngine]:
    with engines.docker_engine_on(job_node, engines.World(client), tmp_path / "held") as engine:
        yield engine


def test_an_agent_that_was_away_ends_the_containers_of_an_experiment_deleted_meanwhile(
    engine: engines.DockerEngine, client: StoreClient, eventually: Wait
) -> None:
    """Those of an experiment that was never here are somebody else's."""
    engine.containers.stop()
    left, staying = engine.begin(), engine.begin(jqueuer_experiment=engines.Y)
    theirs = engine.begin(jqueuer_experiment="elsewhere-cccccc")
    engine.world.experiments.delete(X)
    agent = engine.another_agent()
    eventually(lambda: len(agent.list()) == 2)
    assert {(handle.id, handle.draining) for handle in agent.list()} == {(left, True), (staying, False)}
    [outlived] = [handle for handle in agent.list() if handle.draining]
    assert outlived.experiment_id == X
    agent.end(outlived, planned=True)
    assert not engine.runs(left)
    assert [handle.id for handle in agent.list()] == [staying]
    assert engine.runs(theirs)
    assert client.keys(f"*{X}*") == [f"jq:deleted:{X}"], "nothing of it comes back"


def test_a_container_drains_once_its_experiment_is_deleted(engine: engines.DockerEngine, eventually: Wait) -> None:
    """Also where its agent could not be told otherwise, as on a node that was cut off."""
    ours = engine.begin()
    handle = engines.one(engine.containers, eventually)
    engine.containers.ready(handle)
    engine.world.experiments.move(X, [ExperimentState.RUNNING], ExperimentState.ACCOMPLISHED)
    engine.world.experiments.settle(X)
    engine.world.experiments.delete(X)
    eventually(lambda: [found.draining for found in engine.containers.list()] == [True])
    engine.containers.end(engine.containers.list()[0], planned=True)
    assert not engine.runs(ours)
