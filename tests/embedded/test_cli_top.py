"""The cluster in one look, against the real one."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from jqueuer.adapters.valkey import ValkeyServer
from jqueuer.cli import app
from jqueuer.client import Client
from tests.embedded.own_manager import own_manager
from tests.embedded.running import System
from tests.embedded.terminals import Open

Wait = Callable[..., None]

ENDLESS = "name: endless\ndeadline: 10m\ncontainers: {max: 1}\nestimate: 1s\njobs: [{id: a, command: [sleep, '600']}]\n"


@pytest.fixture
def endless(system: System) -> Iterator[str]:
    """An experiment that does not end by itself."""
    experiment_id = system.submit(ENDLESS)
    yield experiment_id
    system.api.cancel(experiment_id)


def top(environment: dict[str, str], *arguments: str) -> Result:
    return CliRunner(env={"COLUMNS": "120", **environment}).invoke(app, ["top", *arguments], prog_name="jqueuer")


def test_nodes_experiments_store_and_broker_are_in_one_look(system: System, endless: str, eventually: Wait) -> None:
    eventually(lambda: system.containers(endless)["busy"])
    ended = top(system.environment, "--once")
    assert ended.exit_code == 0, ended.stderr
    assert "store answers  broker answers" in ended.stdout
    assert "1 busy" in next(line for line in ended.stdout.splitlines() if line.startswith("local "))
    row = next(line for line in ended.stdout.splitlines() if line.startswith(endless))
    assert "on time" in row or "no forecast" in row
    assert "1/1" in row
    ended = top(system.environment, "--json")
    found = json.loads(ended.stdout)
    assert (found["store"], found["broker"]) == ({"up": True, "problem": ""}, {"up": True})
    assert found["nodes"] == system.api.nodes()
    assert endless in [item["id"] for item in found["experiments"]]
    system.api.cancel(endless)
    system.api.wait(endless)
    assert endless not in top(system.environment).stdout, "what has ended is not there"


def test_on_a_terminal_it_is_drawn_until_ctrl_c(
    system: System, endless: str, on_terminal: Open, eventually: Wait
) -> None:
    terminal = on_terminal("top", environment=system.environment)
    eventually(lambda: "broker answers" in terminal.text and endless in terminal.text)
    terminal.press_ctrl_c()
    assert terminal.ended() == 0
    assert terminal.raw.rfind(b"\x1b[?1049l") > terminal.raw.rfind(b"\x1b[?1049h") >= 0, "what was there before is back"
    assert "Traceback" not in terminal.text


def test_a_store_that_is_away_is_said_and_so_is_a_manager_that_is(tmp_path: Path, eventually: Wait) -> None:
    with (
        ValkeyServer(tmp_path / "store") as store,
        own_manager(
            tmp_path / "manager", eventually, store_url=store.store_url, broker_url=store.broker_url
        ) as manager,
        Client(manager.url, token="not-looked-at") as client,
    ):
        eventually(lambda: client.ready() == "")
        environment = {"JQUEUER_URL": manager.url}
        assert top(environment, "--once").exit_code == 0
        store.stop()
        eventually(lambda: client.ready() != "")
        ended = top(environment, "--once")
        assert ended.exit_code == 3
        assert "store does not answer  broker does not answer" in ended.stdout
        manager.process.terminate()
        manager.process.wait(60)
        ended = top(environment, "--once")
        assert (ended.exit_code, ended.stdout) == (3, "")
        assert "no answer from the manager" in ended.stderr
