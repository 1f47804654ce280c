"""``jqueuer quote`` and ``jqueuer submit --if-feasible``, with and without a manager."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from jqueuer.cli import app
from jqueuer.cli.describing import read_file
from jqueuer.cli.exits import Exit
from jqueuer.cli.quoting import ask
from jqueuer.states import ExperimentState
from tests.embedded.api_manager import ADMIN, Manager
from tests.ports import free_port

Write = Callable[..., str]
HEAD = {"name": "sweep", "estimate": "1m", "containers": {"max": 4}, "inputs": ["data.txt"]}


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """A description of 20 jobs that need a file, made of a table where it is no list of lines."""

    def make(deadline: str, *, name: str = "sweep.yaml", **keys: Any) -> str:
        (tmp_path / "data.txt").write_text("data\n")
        (tmp_path / "table.csv").write_text("n\n" + "\n".join(str(number) for number in range(20)))
        file, head = tmp_path / name, {**HEAD, "deadline": deadline, **keys}
        if file.suffix == ".jsonl":
            jobs = [{"id": f"j{number}", "command": ["true"]} for number in range(20)]
            file.write_text("\n".join(map(json.dumps, [head, *jobs])))
        else:
            sweep = {"csv": "table.csv", "job": {"id": "n{{n}}", "command": ["echo", "{{n}}"]}}
            file.write_text(json.dumps({**head, "sweep": sweep}))
        return str(file)

    return make


def jqueuer(*arguments: str, url: str | None = None) -> Result:
    return CliRunner(env={"JQUEUER_URL": url, "JQUEUER_TOKEN": ADMIN}).invoke(app, arguments, prog_name="jqueuer")


@pytest.fixture
def nobody() -> str:
    """A URL at which nothing listens."""
    return f"http://127.0.0.1:{free_port()}"


@pytest.mark.parametrize("name", ["sweep.yaml", "jobs.jsonl"])
def test_what_is_feasible_exits_with_0_and_says_what_it_takes(manager: Manager, write: Write, name: str) -> None:
    ended = jqueuer("quote", write("1h", name=name), url=manager.url)
    assert (ended.exit_code, ended.stderr) == (Exit.OK, "")
    first, second, third, columns, *rows = ended.stdout.splitlines()
    assert first.startswith("feasible: 20 jobs on ")
    assert second.startswith("the earliest deadline that can be kept with 95 %: ")
    assert third.startswith("worked out by the estimate of 60 s a task: no job has been measured")
    assert columns.split() == ["containers", "P50", "P80", "P95", "container-hours", "in", "time"]
    assert [row.split()[0] for row in rows] == ["1", "2", "3", "4"]
    assert sum("the fewest that do" in row for row in rows) == 1
    assert sum(" begins with it" in row for row in rows) == 1
    assert manager.nothing_remains()


def test_what_is_not_exits_with_5_and_makes_a_counter_offer_that_is(manager: Manager, write: Write) -> None:
    refused = jqueuer("quote", write("1m"), "--json", url=manager.url)
    answer = json.loads(refused.stdout)
    assert (refused.exit_code, answer["feasible"], answer["containers"]) == (Exit.INFEASIBLE, False, None)
    offered = f"{answer['earliest_deadline_seconds']:.0f}s"
    assert jqueuer("quote", write(offered), url=manager.url).exit_code == Exit.OK


def test_costs_are_shown_where_there_is_a_price(manager: Manager, write: Write) -> None:
    file = write("1h", policy={"name": "deadline-forecast", "price": 36.0})
    columns = jqueuer("quote", file, url=manager.url).stdout.splitlines()[3].split()
    assert "cost" in columns
    offer = json.loads(jqueuer("quote", file, "--json", url=manager.url).stdout)["curve"][0]
    assert offer["cost"] == pytest.approx(36 * offer["container_hours"], rel=1e-4)


def test_faults_are_told_as_those_of_the_file(write: Write, nobody: str) -> None:
    file = write("1h", deadlin="1h")
    ended = jqueuer("quote", file, url=nobody)
    assert ended.exit_code == Exit.WRONG
    assert ended.stderr.startswith(f"{file}:1: deadlin: unknown key")


def test_a_manager_that_was_named_must_answer(write: Write, nobody: str) -> None:
    ended = jqueuer("quote", write("1h"), url=nobody)
    assert (ended.exit_code, ended.stdout) == (Exit.REFUSED, "")
    assert "no answer from the manager" in ended.stderr


def test_where_none_was_named_and_none_answers_the_quote_is_worked_out_here(
    write: Write, nobody: str, capsys: pytest.CaptureFixture[str]
) -> None:
    file = Path(write("1h"))
    found = ask(file, read_file(file), nobody, required=False)
    assert (found["feasible"], found["jobs"]) == (True, 20)
    assert f"notice: no manager answers at {nobody}: this is worked out here" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["sweep.yaml", "jobs.jsonl"])
def test_locally_it_is_the_same_as_with_a_manager_that_knows_nothing(
    manager: Manager, write: Write, nobody: str, name: str
) -> None:
    file = write("1h", name=name)
    here = json.loads(jqueuer("quote", file, "--local", "--json", url=nobody).stdout)
    there = json.loads(jqueuer("quote", file, "--json", url=manager.url).stdout)
    assert here == there


def test_the_curve_is_drawn(write: Write, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    for name, start in (("curve.png", b"\x89PNG"), ("curve.svg", b"<?xml")):
        ended = jqueuer("quote", write("1h"), "--local", "--plot", str(tmp_path / name))
        assert ended.exit_code == Exit.OK, ended.stderr
        assert (tmp_path / name).read_bytes().startswith(start)


def test_a_picture_nobody_can_draw_is_refused_before_anything_is_asked(
    write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended = jqueuer("quote", write("1h"), "--local", "--plot", str(tmp_path / "curve.txt"))
    assert (ended.exit_code, ended.stdout) == (Exit.REFUSED, "")
    assert "expected a picture's name to end with .png" in ended.stderr
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    ended = jqueuer("quote", write("1h"), "--local", "--plot", str(tmp_path / "curve.png"))
    assert (ended.exit_code, ended.stdout) == (Exit.REFUSED, "")
    assert "pip install 'jqueuer[" in ended.stderr


@pytest.mark.parametrize("name", ["sweep.yaml", "jobs.jsonl"])
def test_what_cannot_be_promised_is_not_submitted_nor_are_its_inputs(manager: Manager, write: Write, name: str) -> None:
    ended = jqueuer("submit", write("1m", name=name), "--if-feasible", url=manager.url)
    assert (ended.exit_code, ended.stdout) == (Exit.INFEASIBLE, "")
    assert ended.stderr.startswith(
        "not submitted: not feasible: 20 jobs on 4 containers, the most allowed: done within 1m"
    )
    assert "the earliest deadline that can be kept so surely is " in ended.stderr
    assert manager.nothing_remains()
    assert manager.services.artifacts.delete_inputs(manager.services.experiments.now() + 60) == 0


def test_as_json_the_refusal_is_the_quote(manager: Manager, write: Write) -> None:
    ended = jqueuer("submit", write("1m"), "--if-feasible", "--json", url=manager.url)
    answer = json.loads(ended.stdout)
    assert (ended.exit_code, answer["feasible"]) == (Exit.INFEASIBLE, False)
    assert answer["earliest_deadline_seconds"] > 60


@pytest.mark.parametrize("name", ["sweep.yaml", "jobs.jsonl"])
def test_what_can_be_promised_is_submitted(manager: Manager, write: Write, name: str) -> None:
    ended = jqueuer("submit", write("10h", name=name), "--if-feasible", url=manager.url)
    assert ended.exit_code == Exit.OK, ended.stderr
    assert manager.api.experiment(ended.stdout.strip())["state"] == ExperimentState.RUNNING
