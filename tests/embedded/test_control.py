"""Scaling, pausing, cancelling: what a user does to a running experiment."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest
import structlog

from jqueuer.adapters.celery_queue import CeleryJobQueue, celery_app, job_queue, queue_name
from jqueuer.adapters.redis_store import RedisContainerRegistry, connect
from jqueuer.adapters.redis_store.connection import StoreClient
from jqueuer.adapters.valkey import ValkeyServer
from jqueuer.errors import EngineUnavailableError
from jqueuer.scheduling import Node
from jqueuer.signing import MessageSigner
from jqueuer.states import AttemptOutcome
from jqueuer_manager.adapters.local_orchestrator import LocalOrchestrator
from jqueuer_manager.loop import ControlLoop
from jqueuer_manager.services import Services
from jqueuer_manager.shell import Shell
from tests.embedded.api_manager import Manager
from tests.embedded.running import System

Wait = Callable[..., None]


def sleepers(count: int, seconds: float, head: str) -> str:
    jobs = "\n".join(f"  - {{id: j{number}, command: [sleep, '{seconds}']}}" for number in range(count))
    return f"{head}\njobs:\n{jobs}\n"


def queue_keys(system: System, experiment_id: str) -> list[str]:
    with connect(f"unix://{system.embedded.state_dir}/store/valkey.sock?db=1") as broker:
        return list(broker.keys(f"{queue_name(experiment_id)}*"))


def test_scaling_down_drains_and_kills_no_job(system: System, eventually: Wait) -> None:
    """Three busy containers, then at most one: each finishes its job first, and nothing runs twice."""
    head = "policy: {name: fixed, containers: 3, period: 200ms}\ncontainers: {min: 1, max: 3}"
    experiment_id = system.submit(sleepers(8, 1.0, head))
    eventually(lambda: system.containers(experiment_id)["busy"] == 3)
    system.api.change_limits(experiment_id, maximum=1)
    eventually(lambda: system.containers(experiment_id)["draining"] == 2)
    eventually(lambda: system.containers(experiment_id)["draining"] == 0)
    system.api.wait(experiment_id, poll_seconds=0.05)
    summary = system.api.summary(experiment_id)
    assert (summary["state"], summary["attempts"], summary["killed"]) == ("accomplished", 8, 0)
    assert (summary["peak_containers"], summary["scale_downs"]) == (3, 1)


def test_cancelling_ends_running_jobs_and_leaves_no_queue(system: System, tmp_path: Path, eventually: Wait) -> None:
    experiment_id = system.submit(
        f"""
        jobs:
          - {{id: a, command: {{shell: "echo $$ > {tmp_path}/pid; sleep 1000"}}}}
          - {{id: b, command: [sleep, "1000"]}}
        """
    )
    eventually(lambda: (tmp_path / "pid").exists() and (tmp_path / "pid").read_text().strip())
    system.api.cancel(experiment_id)
    eventually(lambda: system.counts(experiment_id)["cancelled"] == 2)
    pid = int((tmp_path / "pid").read_text())
    eventually(lambda: not Path(f"/proc/{pid}").exists())
    eventually(lambda: not queue_keys(system, experiment_id))
    assert system.api.experiment(experiment_id)["state"] == "cancelled"


def test_pausing_finishes_running_jobs_releases_containers_and_resumes(system: System, eventually: Wait) -> None:
    experiment_id = system.submit(sleepers(4, 0.5, "containers: {min: 1, max: 1}"))
    eventually(lambda: system.counts(experiment_id)["running"] == 1)
    system.api.pause(experiment_id)

    def at_rest() -> bool:
        containers = system.containers(experiment_id)
        return containers["running"] + containers["draining"] + containers["starting"] == 0

    eventually(at_rest)
    counts = system.counts(experiment_id)
    assert (counts["running"], counts["failed"], counts["cancelled"]) == (0, 0, 0)
    assert counts["queued"] > 0
    system.api.resume(experiment_id)
    assert system.api.wait(experiment_id, poll_seconds=0.05)["state"] == "accomplished"
    assert system.api.summary(experiment_id)["attempts"] == 4


def test_an_ended_experiment_leaves_no_queue_and_no_container(system: System, eventually: Wait) -> None:
    summary = system.run(
        "jobs: [{id: a, command: ['true']}, {id: b, command: ['false']}]\non_failure: {action: cancel}"
    )
    experiment_id = summary["experiment_id"]
    eventually(lambda: not queue_keys(system, experiment_id))
    eventually(lambda: system.containers(experiment_id)["requested"] == 0)
    assert summary["jobs"] == {"total": 2, "accomplished": 1, "failed": 1, "cancelled": 0}


def test_retrying_runs_only_what_failed(system: System, tmp_path: Path) -> None:
    marker = tmp_path / "mended"
    summary = system.run(
        f"""
        on_failure: {{action: cancel}}
        jobs:
          - {{id: good, command: ["true"]}}
          - {{id: bad, command: [test, -e, {marker}]}}
        """
    )
    assert summary["state"] == "failed"
    marker.touch()
    system.api.retry(summary["experiment_id"])
    assert system.api.wait(summary["experiment_id"], poll_seconds=0.05)["state"] == "accomplished"
    assert len(system.attempts(summary["experiment_id"], "good")) == 1


def test_every_decision_can_be_explained(system: System) -> None:
    summary = system.run("jobs: [{id: a, command: ['true']}]")
    journal = system.api.journal(summary["experiment_id"])
    assert journal[0]["action"] == "create"
    assert "finish" in {entry["action"] for entry in journal}
    assert all(entry["reason"] for entry in journal)


def test_a_killed_container_gives_its_job_back_and_is_replaced(system: System, eventually: Wait) -> None:
    experiment_id = system.submit(
        """
        jobs: [{id: a, command: {shell: 'test "$JQUEUER_ATTEMPT" -gt 1 || sleep 1000'}}]
        """
    )
    eventually(lambda: system.counts(experiment_id)["running"] == 1)
    container = system.attempts(experiment_id, "a")[0]["container"]
    eventually(lambda: managers_of(container))  # the job runs as soon as it is claimed, its command a moment later
    os.kill(managers_of(container)[0], signal.SIGKILL)
    system.api.wait(experiment_id, poll_seconds=0.05)
    outcomes = [attempt["outcome"] for attempt in system.attempts(experiment_id, "a")]
    assert outcomes == ["lost", "accomplished"]
    assert system.api.summary(experiment_id)["killed"] == 1


def managers_of(container: str) -> list[int]:
    """The process that manages a container, the parent of what runs in it; none where nothing runs in it."""
    found = []
    for environment in Path("/proc").glob("[0-9]*/environ"):
        with suppress(OSError):
            if f"JQUEUER_CONTAINER={container}".encode() in environment.read_bytes():
                status = (environment.parent / "stat").read_text().rsplit(")", 1)[1].split()
                parent = int(status[1])
                if b"forkserver" in Path(f"/proc/{parent}/cmdline").read_bytes():
                    found.append(parent)
    return found


class OneNode(LocalOrchestrator):
    """Requests are kept as ever, but there are nodes: one, with two cores."""

    def nodes(self) -> tuple[Node, ...]:  # type: ignore[override]
        return (Node(name="n1", cpu_cores=2.0, memory_bytes=2**30),)


@pytest.fixture
def services(services: Services, client: StoreClient) -> Services:
    """The manager's ports on a cluster of one node."""
    return replace(
        services,
        orchestrator=OneNode(RedisContainerRegistry(client)),
        settings=services.settings.model_copy(update={"control_seconds": 0.05}),
    )


def test_who_finds_no_room_waits_and_is_told_for_whom(manager: Manager, eventually: Wait) -> None:
    head = "name: {}\nresources: {{cpu: {{reserve: 1}}}}\ncontainers: {{min: 2, max: 2}}\npolicy: {{name: fixed}}"
    loop = ControlLoop(manager.services)
    loop.start()
    try:
        first = manager.submit_jobs(4, head.format("first"))
        eventually(lambda: containers(manager, first)["requested"] == 2)
        second = manager.submit_jobs(4, head.format("second"))
        eventually(lambda: containers(manager, second)["waiting"])
        found = containers(manager, second)
        assert (found["requested"], found["wanted"]) == (0, 2)
        assert found["waiting"] == f"0 of 2 wanted fit: {first} (received earlier) goes first"
        manager.api.cancel(first)
        eventually(lambda: containers(manager, second)["requested"] == 2)
        assert containers(manager, second)["waiting"] == ""
    finally:
        loop.stop()


def test_the_control_loop_outlives_whatever_the_store_answers(
    manager: Manager, client: StoreClient, eventually: Wait
) -> None:
    """Nobody else would look after the experiments, and nobody would see that it is gone."""
    client.set("jq:active", "no set")
    loop = ControlLoop(manager.services)
    with structlog.testing.capture_logs() as told:
        loop.start()
        try:
            eventually(lambda: told)
            client.delete("jq:active")
            first = manager.submit_jobs(4, "containers: {min: 2, max: 2}")
            eventually(lambda: containers(manager, first)["requested"] == 2)
        finally:
            loop.stop()


def containers(manager: Manager, experiment_id: str) -> dict[str, object]:
    found: dict[str, object] = manager.api.experiment(experiment_id)["containers"]
    return found


class AwayOrchestrator(LocalOrchestrator):
    """An engine that does not answer."""

    def status(self, experiment_id: str) -> None:  # type: ignore[override]
        raise EngineUnavailableError("the engine does not answer")


def test_jobs_are_published_and_the_api_answers_while_the_engine_is_away(manager: Manager, client: StoreClient) -> None:
    experiment_id = manager.submit_jobs(3)
    away = replace(manager.services, orchestrator=AwayOrchestrator(RedisContainerRegistry(client)))
    assert Shell(away, experiment_id).look() is False
    assert manager.services.queue.length(experiment_id) == 3
    assert [entry["action"] for entry in manager.api.journal(experiment_id)] == ["problem"]


def test_what_had_an_attempt_is_handed_out_first_from_a_rebuilt_queue_too(
    manager: Manager, valkey: ValkeyServer, eventually: Wait
) -> None:
    experiment_id = manager.submit_jobs(3)
    shell = Shell(manager.services, experiment_id)
    shell.look()
    manager.run(experiment_id, "j2", outcome=AttemptOutcome.FAILED, retry=True)
    shell.look()
    taken = take_all(valkey, experiment_id)
    assert taken == ["j2", "j0", "j1", "j2"]  # its first message finds nothing to claim by then
    # Nobody worked on them: to the controller their messages are lost.
    eventually(lambda: shell.look() or manager.services.queue.length(experiment_id))
    assert take_all(valkey, experiment_id) == ["j2", "j0", "j1"]


def test_a_job_that_is_queued_again_while_the_broker_is_away_is_handed_out_first_when_it_is_back(
    manager: Manager, tmp_path: Path, eventually: Wait
) -> None:
    """Not last, when the queue is empty and somebody notices that its message is missing."""
    with ValkeyServer(tmp_path / "broker") as broker:
        queue = CeleryJobQueue(celery_app(broker.broker_url), MessageSigner(""))
        experiment_id = manager.submit_jobs(3)
        shell = Shell(replace(manager.services, queue=queue), experiment_id)
        shell.look()
        broker.kill()
        shell.look()
        manager.run(experiment_id, "j2", outcome=AttemptOutcome.FAILED, retry=True)
        shell.look()
        broker.start()
        eventually(lambda: shell.look() or not manager.services.ledger.standing(experiment_id).delayed)
        assert take_all(broker, experiment_id) == ["j2", "j0", "j1", "j2"]


def take_all(valkey: ValkeyServer, experiment_id: str) -> list[str]:
    """The jobs of all messages that wait, in the order in which they are handed out."""
    taken = []
    with celery_app(valkey.broker_url).connection_for_read() as connection:
        queue = job_queue(experiment_id, valkey.broker_url)(connection.default_channel)
        while message := queue.get(no_ack=True):
            taken.append(message.payload[0][1])
    return taken
