"""Hangs and poison, on the real system: what stands still is replaced, what kills is stopped, all others are done."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path

from tests.embedded.running import System

Wait = Callable[..., None]
AGENT = "$(ps -o ppid= -p $(ps -o ppid= -p $PPID))"
"""In a job: the container manager was forked from a server, which the agent started."""


def test_a_container_manager_that_hangs_is_replaced_and_its_job_is_run(
    own_system: Callable[..., System], tmp_path: Path, eventually: Wait
) -> None:
    """It is stopped while it idles. The only other container is busy until the job that waits is done."""
    system = own_system(JQUEUER_WATCHDOG_SECONDS="1s")
    experiment_id = system.submit(
        f"""
        containers: {{min: 2, max: 2}}
        on_failure: {{action: requeue, backoff: 2s}}
        jobs:
          - {{id: holds, command: {{shell: "until test -e {tmp_path}/done; do sleep 0.05; done"}}}}
          - {{id: waits, command: {{shell: "test $JQUEUER_ATTEMPT -gt 1 && touch {tmp_path}/done && exit;
                echo $PPID > {tmp_path}/part; mv {tmp_path}/part {tmp_path}/manager; exit 1"}}}}
        """
    )
    eventually((tmp_path / "manager").exists)
    eventually(lambda: system.counts(experiment_id)["queued"] == 1)
    os.kill(int((tmp_path / "manager").read_text()), signal.SIGSTOP)
    assert system.api.wait(experiment_id, poll_seconds=0.05)["state"] == "accomplished"
    told = [entry["reason"] for entry in system.api.journal(experiment_id) if entry["action"] == "watchdog"]
    assert "the job queue is emptied and filled again" in told[0]
    assert "it is replaced" in told[1]
    assert [attempt["outcome"] for attempt in system.attempts(experiment_id, "waits")] == ["failed", "accomplished"]
    assert [attempt["outcome"] for attempt in system.attempts(experiment_id, "holds")] == ["accomplished"]


def test_a_manager_that_hangs_does_not_keep_the_system_from_stopping(
    own_system: Callable[..., System], tmp_path: Path, eventually: Wait
) -> None:
    system = own_system()
    experiment_id = system.submit(
        f"""
        containers: {{min: 1, max: 1}}
        on_failure: {{action: requeue, backoff: 1h}}
        jobs:
          - {{id: a, command: {{shell: "echo $PPID > {tmp_path}/part; mv {tmp_path}/part {tmp_path}/manager; false"}}}}
        """
    )
    eventually((tmp_path / "manager").exists)
    eventually(lambda: system.counts(experiment_id)["queued"] == 1)
    os.kill(int((tmp_path / "manager").read_text()), signal.SIGSTOP)
    system.embedded.stop()
    assert system.embedded.pids == {}


def test_a_job_that_kills_every_process_of_ours_stops_after_its_limit_and_blocks_nobody(
    own_system: Callable[..., System],
) -> None:
    """The agent, the server that forks container managers, and its own manager."""
    system = own_system(JQUEUER_MAX_LOST_ATTEMPTS="2")
    summary = system.run(
        f"""
        containers: {{min: 2, max: 2}}
        jobs:
          - {{id: poison, command: {{shell: "sleep 0.3; kill -9 {AGENT} $(ps -o ppid= -p $PPID) $PPID; sleep 60"}}}}
          - {{id: good-1, command: ["true"]}}
          - {{id: good-2, command: ["true"]}}
        """
    )
    assert summary["jobs"] == {"total": 3, "accomplished": 2, "failed": 1, "cancelled": 0}
    attempts = system.attempts(summary["experiment_id"], "poison")
    assert [attempt["outcome"] for attempt in attempts] == ["lost"] * 2
    assert attempts[-1]["reason"] == "its container is gone; that was the case 2 times, so it is not run again"
