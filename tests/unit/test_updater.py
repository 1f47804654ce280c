"""The container updater, with real containers and stand-ins for container managers: real processes without Celery."""

from __future__ import annotations

import signal
import subprocess
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from docker.errors import NotFound

from jqueuer.adapters.redis_store import RedisContainerRegistry, RedisExperimentStore, RedisJobLedger
from jqueuer.adapters.redis_store.connection import StoreClient
from jqueuer.labels import CONTAINER_ID_LENGTH, EXPERIMENT, STOP_SIGNAL
from jqueuer.model import Experiment, Job
from jqueuer.ports import ContainerHandle, Containers
from jqueuer.records import Attempt, Claim, ExperimentRecord
from jqueuer.states import AttemptOutcome, ContainerState, ExperimentState, JobState
from jqueuer_agent.adapters.docker_containers import DockerContainers
from jqueuer_agent.adapters.local_containers import LocalContainers
from jqueuer_agent.updater import ContainerUpdater
from jqueuer_manager.adapters.local_orchestrator import LocalOrchestrator
from tests.lab import available
from tests.lab.lab import Lab
from tests.lab.node import Node

Wait = Callable[..., None]
X = "sweep-aaaaaa"

MANAGER = """
trap 'while [ -e "$1" ] && kill -0 $PPID; do sleep 0.02; done; exit 0' TERM
: > "$2"
while kill -0 $PPID; do sleep 0.02; done
"""
"""Takes no more jobs after SIGTERM, and ends with the one it has, or with the tests."""


class Manager:
    """A stand-in; it has a job while its file is there."""

    def __init__(self, directory: Path, container_id: str, script: str) -> None:
        self.job = directory / f"{container_id}.job"
        self._ready = directory / f"{container_id}.ready"
        self.process = subprocess.Popen(["sh", "-c", script, "manager", self.job, self._ready])
        self.told = 0

    def is_set(self) -> bool:
        return self._ready.exists()

    @property
    def exitcode(self) -> int | None:
        return self.process.poll()

    def terminate(self) -> None:
        self.told += 1
        self.process.terminate()

    def kill(self) -> None:
        self.process.kill()

    def join(self, timeout: float | None = None) -> None:
        self.process.wait(timeout)


@dataclass
class World:
    """A running experiment of three jobs, an updater, and the managers it started, by container."""

    client: StoreClient
    directory: Path
    eventually: Wait
    script: str = MANAGER
    managers: dict[str, Manager] = field(default_factory=dict)
    wake: threading.Event = field(default_factory=threading.Event)

    def __post_init__(self) -> None:
        self.experiments = RedisExperimentStore(self.client)
        self.ledger = RedisJobLedger(self.client)
        self.registry = RedisContainerRegistry(self.client)
        record = ExperimentRecord(
            id=X, description=Experiment(), state=ExperimentState.RECEIVING, created_at=self.experiments.now()
        )
        self.experiments.create(record)
        self.ledger.add(X, [Job.model_validate({"id": name, "command": ["true"]}) for name in "abc"])
        self.experiments.accept(X)
        self.registry.request(X, 0)

    def updater(self, containers: Containers) -> ContainerUpdater:
        return ContainerUpdater(containers, self.ledger, self._start, wake=self.wake)

    def _start(self, handle: ContainerHandle) -> tuple[Manager, Manager]:
        manager = self.managers[handle.id] = Manager(self.directory, handle.id, self.script)
        return manager, manager

    def take_job(self, container_id: str, job_id: str = "a") -> Claim:
        claim = self.ledger.claim(X, job_id, container=container_id, node="node1")
        assert claim is not None
        self.managers[container_id].job.touch()
        return claim

    def states(self) -> dict[str, ContainerState]:
        return {status.id: status.state for status in self.registry.observed(X)}

    def looking(self, updater: ContainerUpdater, condition: Callable[[], object]) -> None:
        """Look again and again until something holds."""

        def look() -> object:
            updater.update()
            return condition()

        self.eventually(look)


@pytest.fixture
def world(client: StoreClient, tmp_path: Path, eventually: Wait) -> Iterator[World]:
    world = World(client, tmp_path, eventually)
    yield world
    for manager in world.managers.values():
        manager.kill()
        manager.join()


@pytest.fixture
def local(world: World, tmp_path: Path) -> LocalContainers:
    return LocalContainers(world.registry, tmp_path / "containers", "node1", world.experiments.now)


def test_every_container_gets_one_manager(world: World, local: LocalContainers) -> None:
    world.registry.request(X, 3)
    updater = world.updater(local)
    world.looking(updater, lambda: list(world.states().values()) == [ContainerState.IDLE] * 3)
    assert world.managers.keys() == world.states().keys()


def test_a_manager_that_dies_gives_its_job_back_and_takes_its_container_with_it(
    world: World, local: LocalContainers
) -> None:
    world.registry.request(X, 1)
    updater = world.updater(local)
    world.looking(updater, lambda: ContainerState.IDLE in world.states().values())
    [victim] = world.managers
    world.take_job(victim)
    world.managers[victim].kill()
    world.looking(updater, lambda: len(world.managers) == 2)
    assert world.ledger.job(X, "a").state is JobState.QUEUED
    assert world.states().keys() == world.managers.keys() - {victim}


class Outlived:
    """Containers that outlive their agents."""

    farewell_seconds = 0.0

    def list(self) -> list[ContainerHandle]:
        return [ContainerHandle(id=name, experiment_id=X, draining=False) for name in ("c1", "c2")]

    def ready(self, handle: ContainerHandle) -> None: ...

    def end(self, handle: ContainerHandle, *, planned: bool) -> None: ...

    def leave(self, handle: ContainerHandle) -> None: ...


def test_jobs_that_an_agent_left_behind_together_are_not_to_blame_for_its_deaths(world: World) -> None:
    """However often it dies; one that was there alone may be the reason."""
    world.ledger = RedisJobLedger(world.client, max_lost_attempts=2)
    for _ in range(2):
        for container_id, job_id in (("c1", "a"), ("c2", "b")):
            assert world.ledger.claim(X, job_id, container=container_id, node="node1") is not None
        world.updater(Outlived()).update()
    assert [world.ledger.job(X, job_id).state for job_id in "ab"] == [JobState.QUEUED] * 2
    for _ in range(2):
        assert world.ledger.claim(X, "c", container="c1", node="node1") is not None
        world.updater(Outlived()).update()
    assert world.ledger.job(X, "c").state is JobState.FAILED


def test_a_look_that_fails_does_not_end_the_loop(world: World, local: LocalContainers) -> None:
    world.registry.request(X, 1)
    updater, stop, failures = world.updater(local), threading.Event(), [OSError("no more processes")]
    start = updater.start_manager

    def start_at_second_try(handle: ContainerHandle) -> object:
        if failures:
            raise failures.pop()
        return start(handle)

    updater.start_manager = start_at_second_try  # type: ignore[assignment]
    loop = threading.Thread(target=updater.run, args=(stop, 0.01))
    loop.start()
    world.eventually(lambda: ContainerState.IDLE in world.states().values())
    stop.set()
    loop.join()
    assert not failures


def test_containers_that_end_with_their_agent_finish_their_job_first(world: World, local: LocalContainers) -> None:
    world.registry.request(X, 2)
    updater = world.updater(local)
    world.looking(updater, lambda: list(world.states().values()) == [ContainerState.IDLE] * 2)
    busy, idle = world.managers
    world.take_job(busy)
    going = threading.Thread(target=updater.drain)
    going.start()
    world.eventually(lambda: world.states().keys() == {busy})
    assert world.managers[busy].exitcode is None
    world.managers[busy].job.unlink()
    going.join()
    assert world.states() == {}
    assert [manager.told for manager in world.managers.values()] == [1, 1]
    assert world.managers.keys() == {busy, idle}, "nothing new was begun"


def test_a_container_whose_manager_hangs_is_given_up_and_replaced_but_not_one_with_a_job(
    world: World, local: LocalContainers
) -> None:
    world.registry.request(X, 2)
    updater = world.updater(local)
    world.looking(updater, lambda: list(world.states().values()) == [ContainerState.IDLE] * 2)
    busy, hangs = world.managers
    world.take_job(busy)
    for name in (busy, hangs):
        world.managers[name].process.send_signal(signal.SIGSTOP)
    LocalOrchestrator(world.registry).replace(X, [busy, hangs])
    world.looking(updater, lambda: list(world.states().values()).count(ContainerState.IDLE) == 2)
    world.looking(updater, lambda: world.managers[hangs].exitcode is not None)
    assert world.managers[busy].exitcode is None
    world.looking(updater, lambda: world.states().keys() == world.managers.keys() - {hangs})
    assert world.ledger.job(X, "a").state is JobState.RUNNING
    assert world.states()[busy] is ContainerState.DRAINING


# On a real engine.


@dataclass
class DockerNode:
    node: Node
    containers: DockerContainers

    def begin(self) -> str:
        container = self.node.docker.containers.run(
            "busybox", ["sleep", "1000"], detach=True, init=True, network_mode="none", labels={EXPERIMENT: X}
        )
        return str(container.id)[:CONTAINER_ID_LENGTH]

    def signal(self, container_id: str, name: str = STOP_SIGNAL) -> None:
        self.node.docker.containers.get(container_id).kill(name)

    def runs(self, container_id: str) -> bool:
        try:
            return str(self.node.docker.containers.get(container_id).status) == "running"
        except NotFound:
            return False


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Node]:
    available.require()
    with Lab(tmp_path_factory.mktemp("lab"), nodes=1) as lab:
        lab.busybox(lab.nodes[0])
        yield lab.nodes[0]


@pytest.fixture
def engine(node: Node, world: World, tmp_path: Path) -> Iterator[DockerNode]:
    containers = DockerContainers(
        node.docker_url, "node1", registry=world.registry, experiments=world.experiments, directory=tmp_path / "held",
        changed=world.wake.set,
    )  # fmt: skip
    containers.farewell_seconds = 0.5
    containers.start()
    yield DockerNode(node, containers)
    containers.stop()
    for container in node.docker.containers.list(all=True):
        container.remove(force=True)


def begun(world: World, engine: DockerNode, updater: ContainerUpdater, count: int) -> list[str]:
    """So many idle containers."""
    ids = [engine.begin() for _ in range(count)]
    world.looking(updater, lambda: list(world.states().values()) == [ContainerState.IDLE] * count)
    return ids


def test_a_container_that_is_given_up_finishes_its_job_and_is_ended_then(world: World, engine: DockerNode) -> None:
    updater = world.updater(engine.containers)
    [busy] = begun(world, engine, updater, 1)
    world.take_job(busy)
    engine.signal(busy)
    world.looking(updater, lambda: world.managers[busy].told)
    for _ in range(20):
        updater.update()
    assert (engine.runs(busy), world.managers[busy].exitcode, world.managers[busy].told) == (True, None, 1)
    assert world.ledger.job(X, "a").state is JobState.RUNNING
    world.managers[busy].job.unlink()
    world.looking(updater, lambda: not world.states())
    assert not engine.runs(busy)


def test_the_manager_of_a_container_that_vanished_is_ended_and_its_job_queued_again(
    world: World, engine: DockerNode
) -> None:
    updater = world.updater(engine.containers)
    victim, other = begun(world, engine, updater, 2)
    world.take_job(victim, "a")
    world.take_job(other, "b")
    engine.signal(victim, "SIGKILL")
    world.looking(updater, lambda: world.managers[victim].exitcode is not None)
    assert world.managers[victim].exitcode == -signal.SIGKILL
    assert world.ledger.job(X, "a").state is JobState.QUEUED
    assert world.ledger.job(X, "b").state is JobState.RUNNING
    assert world.states().keys() == {other}


def test_a_manager_whose_container_ended_with_its_job_may_record_the_outcome(world: World, engine: DockerNode) -> None:
    updater = world.updater(engine.containers)
    [gone] = begun(world, engine, updater, 1)
    claim = world.take_job(gone)
    engine.signal(gone, "SIGKILL")
    world.looking(updater, lambda: world.managers[gone].told)
    updater.update()
    assert (world.managers[gone].exitcode, world.managers[gone].told) == (None, 1)
    attempt = Attempt(
        number=claim.token, container=gone, node="node1", started_at=claim.started_at, outcome=AttemptOutcome.TIMED_OUT
    )
    assert world.ledger.finish(claim, attempt, retry=False) is JobState.FAILED
    world.managers[gone].job.unlink()
    world.looking(updater, lambda: not world.states())
    [kept] = world.ledger.job(X, "a").attempts
    assert kept.outcome is AttemptOutcome.TIMED_OUT


def test_a_container_in_which_no_manager_can_work_is_ended(world: World, engine: DockerNode) -> None:
    world.script = "exit 70"
    updater, container_id = world.updater(engine.containers), engine.begin()
    world.looking(updater, lambda: world.managers)
    world.looking(updater, lambda: not engine.runs(container_id))
    world.looking(updater, lambda: not world.states())


def test_a_job_that_a_dead_agent_left_in_a_container_is_queued_again(world: World, engine: DockerNode) -> None:
    container_id = engine.begin()
    assert world.ledger.claim(X, "a", container=container_id, node="node1") is not None
    updater = world.updater(engine.containers)
    world.looking(updater, lambda: world.managers)
    assert world.ledger.job(X, "a").state is JobState.QUEUED
    assert engine.runs(container_id)


def test_an_agent_that_goes_leaves_idle_containers_to_the_next_and_ends_those_given_up(
    world: World, engine: DockerNode
) -> None:
    """Whether the signal came before the agent's own, or while it was going."""
    updater = world.updater(engine.containers)
    staying, early, late, busy = begun(world, engine, updater, 4)
    world.take_job(busy)
    engine.signal(early)
    going = threading.Thread(target=updater.drain)
    going.start()
    world.eventually(lambda: all(manager.told for manager in world.managers.values()))
    engine.signal(late)
    world.eventually(lambda: not engine.runs(early) and not engine.runs(late))
    newcomer = engine.begin()
    world.eventually(lambda: world.states().get(staying) is ContainerState.STARTING)
    assert world.managers[busy].exitcode is None
    engine.signal(busy)
    world.managers[busy].job.unlink()
    going.join()
    assert {name for name in (staying, early, late, busy, newcomer) if engine.runs(name)} == {staying, newcomer}
    assert newcomer not in world.managers
    assert world.ledger.job(X, "a").state is JobState.QUEUED
    assert set(world.states().values()) == {ContainerState.STARTING}


def test_the_loop_is_woken_by_a_new_container(world: World, engine: DockerNode) -> None:
    """Long before its next look is due."""
    updater, stop = world.updater(engine.containers), threading.Event()
    loop = threading.Thread(target=updater.run, args=(stop, 1000.0))
    loop.start()
    container_id = engine.begin()
    world.eventually(lambda: container_id in world.managers)
    stop.set()
    world.wake.set()
    loop.join()
