"""The process that controls dies and is started again, goes when the manager goes, and holds no request up."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
import requests
import structlog

from jqueuer.adapters.redis_store.connection import StoreClient
from jqueuer.adapters.valkey import ValkeyServer
from jqueuer_manager.control_process import ControlProcess
from tests.embedded.own_manager import own_manager
from tests.embedded.running import System, sweep_of
from tests.processes import control_of, is_there

Wait = Callable[..., None]


def test_a_control_process_that_is_killed_is_started_again_and_no_attempt_is_lost_by_it(
    own_system: Callable[[], System], eventually: Wait
) -> None:
    system = own_system()
    experiment_id = system.submit(sweep_of(30, "sleep 0.1"))
    eventually(lambda: system.counts(experiment_id)["accomplished"] >= 5)
    manager = system.embedded.pids["jqueuer_manager"]
    (killed,) = control_of(manager)
    os.kill(killed, signal.SIGKILL)
    assert system.api.wait(experiment_id, poll_seconds=0.05)["state"] == "accomplished"
    assert system.api.summary(experiment_id)["attempts"] == 30
    assert system.embedded.pids["jqueuer_manager"] == manager
    assert control_of(manager) not in ([], [killed])


def test_requests_are_answered_while_the_control_process_stands_still(
    own_system: Callable[[], System], eventually: Wait
) -> None:
    """It goes on with what was submitted meanwhile, though nobody could tell it."""
    system = own_system()
    eventually(lambda: control_of(system.embedded.pids["jqueuer_manager"]))
    (control,) = control_of(system.embedded.pids["jqueuer_manager"])
    os.kill(control, signal.SIGSTOP)
    try:
        experiment_id = system.submit(sweep_of(3, "true"))
        assert system.counts(experiment_id)["queued"] == 3
    finally:
        os.kill(control, signal.SIGCONT)
    assert system.api.wait(experiment_id, poll_seconds=0.05)["state"] == "accomplished"


def test_it_goes_with_the_manager_whether_that_is_told_to_stop_or_killed(
    client: StoreClient, valkey: ValkeyServer, tmp_path: Path, eventually: Wait
) -> None:
    for number in (signal.SIGTERM, signal.SIGKILL):
        urls = {"store_url": valkey.store_url, "broker_url": valkey.broker_url}
        with own_manager(tmp_path / number.name, eventually, **urls) as manager:
            eventually(lambda url=manager.url: requests.get(f"{url}/readyz", timeout=60).ok, 30)
            (control,) = control_of(manager.process.pid)
            manager.process.send_signal(number)
            eventually(lambda pid=control: not is_there(pid), 30)


def test_a_worker_of_the_manager_that_is_killed_takes_it_along_and_the_next_has_its_own(
    client: StoreClient, valkey: ValkeyServer, tmp_path: Path, eventually: Wait
) -> None:
    with own_manager(tmp_path, eventually, store_url=valkey.store_url, broker_url=valkey.broker_url) as manager:
        eventually(lambda: requests.get(f"{manager.url}/readyz", timeout=60).ok, 30)
        (control,) = control_of(manager.process.pid)
        parent = int(Path(f"/proc/{control}/stat").read_text().rpartition(")")[2].split()[1])
        os.kill(parent, signal.SIGKILL)
        eventually(lambda: not is_there(control), 30)
        eventually(lambda: control_of(manager.process.pid), 30)


def test_it_is_tried_again_where_no_process_can_be_started(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, eventually: Wait
) -> None:
    monkeypatch.setenv("JQUEUER_STATE_DIR", str(tmp_path))
    control = ControlProcess(threading.Event())
    with structlog.testing.capture_logs() as told, monkeypatch.context() as patched:
        patched.setattr(sys, "executable", "/nowhere/python")
        control.start()
        eventually(lambda: told)
    try:
        eventually(lambda: control.pid is not None)
    finally:
        control.stop()


def test_it_ends_without_having_begun_when_nobody_lets_it_begin(valkey: ValkeyServer, tmp_path: Path) -> None:
    settings = {
        "JQUEUER_STATE_DIR": str(tmp_path),
        "JQUEUER_STORE_URL": valkey.store_url,
        "JQUEUER_BROKER_URL": valkey.broker_url,
    }
    command = [sys.executable, "-m", "jqueuer_manager.control"]
    ended = subprocess.run(command, env=os.environ | settings, stdin=subprocess.DEVNULL, timeout=60, check=False)
    assert ended.returncode == 0
