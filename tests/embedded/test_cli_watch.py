"""Watching an experiment: on a real terminal, away from one, and while the manager is not there."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator

import pytest
from typer.testing import CliRunner

from jqueuer.cli import app
from jqueuer.client import Client, ClientError, following
from jqueuer.states import ExperimentState
from jqueuer_manager.services import Services
from tests.embedded.api_manager import ADMIN, Manager, served
from tests.embedded.running import System
from tests.embedded.terminals import Open

Wait = Callable[..., None]

ENDLESS = "name: endless\ndeadline: 10m\ncontainers: {max: 1}\nestimate: 1s\njobs: [{id: a, command: [sleep, '600']}]\n"
FAILING = """
name: failing
deadline: 10m
on_failure: {action: cancel}
jobs:
  - {id: good, command: ['true']}
  - {id: bad, command: {shell: "echo cannot read the table >&2; exit 3"}}
  - {id: slow, command: {shell: "while [ ! -e GO ]; do sleep 0.05; done"}}
"""
SHOWN, HIDDEN = b"\x1b[?25h", b"\x1b[?25l"
"""A terminal's cursor."""


@pytest.fixture
def endless(system: System) -> Iterator[str]:
    """An experiment that does not end by itself."""
    experiment_id = system.submit(ENDLESS)
    yield experiment_id
    system.api.cancel(experiment_id)


def test_on_a_terminal_it_is_drawn_live_until_it_ends(
    system: System, on_terminal: Open, eventually: Wait, tmp_path_factory: pytest.TempPathFactory
) -> None:
    go = tmp_path_factory.mktemp("go") / "now"
    experiment_id = system.submit(FAILING.replace("GO", str(go)))
    try:
        terminal = on_terminal("watch", experiment_id, environment=system.environment)
        for words in (
            *(
                "✗ bad · attempt 1 · exit code 3",
                "│ cannot read the table",
                f"failing  running  {experiment_id} · of admin",
            ),
            *(
                "█ 1 accomplished",
                "▓ 1 running",
                "━",
                "deadline in",
                "requested",
                "1 busy",
                "jobs: 1 on local",
                "decision",
            ),
        ):
            eventually(lambda words=words: words in terminal.text)
        assert "Ctrl-C leaves" in terminal.text
    finally:
        go.touch()
    assert terminal.ended() == 1
    end = terminal.text.rpartition("Ctrl-C leaves")[2]
    assert f"failed  failing  {experiment_id}" in end
    assert "✗ bad · attempt 1 · exit code 3" in end
    assert terminal.raw.rfind(SHOWN) > terminal.raw.rfind(HIDDEN) >= 0


def test_who_leaves_leaves_the_experiment_running(
    system: System, endless: str, on_terminal: Open, eventually: Wait
) -> None:
    terminal = on_terminal("watch", endless, environment=system.environment, columns=60, rows=20)
    eventually(lambda: "1 busy" in terminal.text)
    terminal.press_ctrl_c()
    assert terminal.ended() == 130
    assert f"{endless} goes on; `jqueuer watch {endless}`" in " ".join(terminal.text.split())
    assert terminal.raw.rfind(SHOWN) > terminal.raw.rfind(HIDDEN) >= 0
    assert "Traceback" not in terminal.text
    assert system.api.experiment(endless)["state"] == "running"


def test_a_terminal_that_cannot_be_drawn_on_gets_lines(
    system: System, endless: str, on_terminal: Open, eventually: Wait
) -> None:
    terminal = on_terminal("watch", endless, environment={**system.environment, "TERM": "dumb"}, columns=300)
    eventually(lambda: "running · 0/1 jobs" in terminal.text)
    system.api.cancel(endless)
    assert terminal.ended() == 1
    assert b"\x1b" not in terminal.raw


def test_a_manager_that_is_replaced_ends_no_watch(own_system: Callable[[], System], eventually: Wait) -> None:
    system = own_system()
    experiment_id = system.submit(ENDLESS)
    watch = subprocess.Popen(
        [sys.executable, "-c", "from jqueuer.cli import main; main()", "watch", experiment_id, "--json"],
        env={**os.environ, **system.environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert watch.stdout is not None
        assert json.loads(watch.stdout.readline())["id"] == experiment_id
        killed = system.embedded.pids["jqueuer_manager"]
        os.kill(killed, signal.SIGKILL)
        eventually(lambda: system.embedded.pids["jqueuer_manager"] != killed, 30)
        system.api.cancel(experiment_id)
        stdout, stderr = watch.communicate(timeout=60)
    finally:
        watch.kill()
        watch.wait()
    assert watch.returncode == 1, stderr
    assert json.loads(stdout.splitlines()[-1])["state"] == "cancelled"


def test_where_there_is_no_stream_it_is_asked_for(manager: Manager, monkeypatch: pytest.MonkeyPatch) -> None:
    """A manager that lets nobody listen any more still answers."""
    monkeypatch.setattr(following, "ASK_SECONDS", 0.02)
    manager.services.stopping.set()
    experiment_id = manager.submit_jobs(2)
    news = following.follow(manager.api, experiment_id)
    assert next(news).experiment["jobs"]["queued"] == 2
    manager.run(experiment_id, "j0")
    assert next(found for found in news if found.experiment["jobs"]["accomplished"]).trouble == ""
    manager.end(experiment_id, ExperimentState.CANCELLED)
    *_, last = news
    assert (last.experiment["state"], last.experiment["settled"]) == ("cancelled", True)


def test_changes_are_heard_of_without_asking(manager: Manager, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(following, "ASK_SECONDS", 3600.0)
    experiment_id = manager.submit_jobs(1)
    news = following.follow(manager.api, experiment_id)
    next(news)
    next(news)
    asked = threading.Timer(0.0, manager.run, (experiment_id, "j0"))
    asked.start()
    assert next(found for found in news if found.experiment["jobs"]["accomplished"]).trouble == ""
    asked.join()
    news.close()


def test_what_is_deleted_meanwhile_is_an_error_in_words(manager: Manager, monkeypatch: pytest.MonkeyPatch) -> None:
    experiment_id = manager.submit_jobs(1)
    news = following.follow(manager.api, experiment_id)
    next(news)
    manager.services.experiments.delete(experiment_id)
    with pytest.raises(ClientError, match=experiment_id):
        list(news)


def test_a_manager_that_stays_away_is_not_waited_for_for_ever(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(following, "ASK_SECONDS", 0.02)
    monkeypatch.setattr(following, "PATIENCE_SECONDS", 0.5)
    with served(services) as manager, Client(manager.url, token=ADMIN) as client:
        news = following.follow(client, manager.submit_jobs(1))
        next(news)
        client.close()  # the server waits for connections that are kept
    assert "no answer" in next(found.trouble for found in news if found.trouble), "it is waited for"
    with pytest.raises(ClientError, match="no answer from the manager"):
        list(news)


def test_there_is_nothing_to_watch_where_there_is_no_such_experiment(system: System) -> None:
    ended = CliRunner(env=system.environment).invoke(app, ["watch", "nobody-aaaaaa"], prog_name="jqueuer")
    assert (ended.exit_code, ended.stdout) == (3, "")
    assert "nobody-aaaaaa" in ended.stderr
