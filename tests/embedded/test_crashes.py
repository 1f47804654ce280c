"""Whatever is killed, every job ends in one recorded outcome."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from jqueuer.client import ClientError
from tests.embedded.running import System, sweep_of

Wait = Callable[..., None]


def sweep(tmp_path: Path, jobs: int, seconds: float) -> str:
    """Each job also writes its id and attempt to a file outside of everything of ours."""
    return sweep_of(jobs, f"sleep {seconds}; echo {{{{n}}}} $JQUEUER_ATTEMPT >> {tmp_path}/trace")


def assert_nothing_lost(system: System, experiment_id: str, jobs: int, trace: Path) -> None:
    ended = system.api.wait(experiment_id, poll_seconds=0.05)
    failed = {job["id"]: job["reason"] for job in system.api.jobs(experiment_id, state="failed")}
    assert (ended["state"], failed) == ("accomplished", {})
    assert ended["jobs"]["accomplished"] == ended["jobs"]["total"] == jobs
    ran = {int(line.split()[0]) for line in trace.read_text().splitlines()}
    assert ran == set(range(1, jobs + 1))


@pytest.mark.parametrize("victim", ["jqueuer_manager", "jqueuer_agent", "store"])
def test_a_process_that_is_killed_is_replaced_and_nothing_is_lost(
    own_system: Callable[[], System], tmp_path: Path, victim: str, eventually: Wait
) -> None:
    system = own_system()
    experiment_id = system.submit(sweep(tmp_path, 30, 0.1))
    eventually(lambda: system.counts(experiment_id)["accomplished"] >= 5)
    os.kill(system.embedded.pids[victim], signal.SIGKILL)
    assert_nothing_lost(system, experiment_id, 30, tmp_path / "trace")
    extra = system.api.summary(experiment_id)["attempts"] - 30
    assert extra <= {"jqueuer_manager": 0, "jqueuer_agent": 2, "store": 2}[victim]


def test_after_everything_is_killed_a_new_start_goes_on(
    own_system: Callable[[], System], tmp_path: Path, eventually: Wait
) -> None:
    system = own_system()
    experiment_id = system.submit(sweep(tmp_path, 30, 0.1))
    eventually(lambda: system.counts(experiment_id)["accomplished"] >= 5)
    for pid in system.embedded.pids.values():
        os.kill(pid, signal.SIGKILL)
    system.embedded.stop(force=True)
    accomplished = len((tmp_path / "trace").read_text().splitlines())
    again = own_system()
    assert_nothing_lost(again, experiment_id, 30, tmp_path / "trace")
    assert accomplished >= 5
    assert again.api.summary(experiment_id)["attempts"] <= 30 + 2


def test_messages_that_were_lost_are_published_again(
    own_system: Callable[[], System], tmp_path: Path, eventually: Wait
) -> None:
    from jqueuer.adapters.celery_queue import queue_name
    from jqueuer.adapters.redis_store import connect

    system = own_system()
    experiment_id = system.submit(sweep(tmp_path, 20, 0.1))
    eventually(lambda: system.counts(experiment_id)["accomplished"] >= 3)
    with connect(f"unix://{system.embedded.state_dir}/store/valkey.sock?db=1") as broker:
        assert broker.delete(*broker.keys(f"{queue_name(experiment_id)}*"))
    assert_nothing_lost(system, experiment_id, 20, tmp_path / "trace")
    assert system.api.summary(experiment_id)["attempts"] == 20


def test_a_job_that_kills_its_container_stops_after_its_limit_and_blocks_nobody(
    own_system: Callable[[], System],
) -> None:
    system = own_system()
    summary = system.run(
        """
        jobs:
          - {id: poison, command: {shell: "kill -9 $PPID"}}
          - {id: good, command: ["true"]}
        """
    )
    assert summary["jobs"] == {"total": 2, "accomplished": 1, "failed": 1, "cancelled": 0}
    assert len(system.attempts(summary["experiment_id"], "poison")) == 5


def test_stopping_lets_running_jobs_finish_and_leaves_no_process(
    own_system: Callable[[], System], tmp_path: Path, eventually: Wait
) -> None:
    system = own_system()
    experiment_id = system.submit(sweep(tmp_path, 10, 0.5))
    eventually(lambda: system.counts(experiment_id)["running"] == 2)
    system.embedded.stop()
    marker = f"JQUEUER_EMBEDDED_IN={system.embedded.state_dir}".encode()
    left = [path for path in Path("/proc").glob("[0-9]*/environ") if _holds(path, marker)]
    assert left == []
    again = own_system()
    assert_nothing_lost(again, experiment_id, 10, tmp_path / "trace")
    assert again.api.summary(experiment_id)["attempts"] == 10


def _holds(environment: Path, marker: bytes) -> bool:
    try:
        return marker in environment.read_bytes().split(b"\0")
    except OSError:
        return False


def test_a_job_runs_on_while_the_store_is_away_and_its_outcome_is_recorded_later(
    own_system: Callable[[], System], tmp_path: Path, eventually: Wait
) -> None:
    """The store stops answering for longer than several heartbeats, but not as long as the lease."""
    system = own_system()
    script = f"touch {tmp_path}/begun; until test -e {tmp_path}/end; do sleep 0.05; done"
    experiment_id = system.submit(f"jobs: [{{id: a, command: {{shell: '{script}'}}}}]")
    eventually((tmp_path / "begun").exists)
    store = system.embedded.pids["store"]
    os.kill(store, signal.SIGSTOP)
    (tmp_path / "end").touch()
    threading.Event().wait(1.0)
    os.kill(store, signal.SIGCONT)
    assert system.api.wait(experiment_id, poll_seconds=0.05)["state"] == "accomplished"
    assert system.api.summary(experiment_id)["attempts"] == 1


def test_no_container_is_stuck_after_the_store_died_under_an_acknowledgement(
    own_system: Callable[[], System], eventually: Wait
) -> None:
    """Short jobs in one container, and the store killed in between again and again: some deaths hit an answer."""
    system = own_system()
    experiment_id = system.submit(
        """
        sweep:
          parameters: {n: {from: 1, to: 2500, step: 1}}
          job: {command: ["true"]}
        """
    )
    for done in (200, 700, 1200, 1700):
        eventually(lambda done=done: _accomplished(system, experiment_id) >= done, 60)
        os.kill(system.embedded.pids["store"], signal.SIGKILL)
    ended = system.api.wait(experiment_id, poll_seconds=0.05)
    assert (ended["state"], ended["jobs"]["accomplished"]) == ("accomplished", 2500)


def _accomplished(system: System, experiment_id: str) -> int:
    try:
        return system.counts(experiment_id)["accomplished"]
    except ClientError:
        return 0  # the store is away
