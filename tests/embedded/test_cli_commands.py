"""The commands that talk to a manager, against the real one."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from jqueuer.cli import app
from tests.embedded.running import System

Command = Callable[..., Result]

SMALL = """
name: small
deadline: 10m
containers: {max: 2}
estimate: 1s
on_failure: {action: cancel}
sweep:
  parameters: {n: [1, 2, 3]}
  job:
    id: "n{{n}}"
    command: {shell: "echo out {{n}}; echo err {{n}} >&2; echo {{n}} > result.txt; cat data.txt"}
    outputs: [result.txt]
inputs: [data.txt]
post:
  command: {shell: "cat outputs/*/result.txt | sort > all.txt"}
  outputs: [all.txt]
"""
FAILING = """
name: failing
on_failure: {action: cancel}
jobs:
  - {id: good, command: ['true']}
  - {id: bad, command: {shell: "echo no; exit 3"}}
"""
ENDLESS = "name: endless\ncontainers: {max: 1}\nestimate: 1s\njobs: [{id: a, command: [sleep, '600']}]\n"


@pytest.fixture
def jqueuer(system: System) -> Command:
    def run(*arguments: str) -> Result:
        return CliRunner(env=system.environment).invoke(app, arguments, prog_name="jqueuer")

    return run


@pytest.fixture
def submit(jqueuer: Command, tmp_path: Path) -> Callable[[str], str]:
    def send(text: str) -> str:
        (tmp_path / "data.txt").write_text("data\n")
        file = tmp_path / "sweep.yaml"
        file.write_text(text)
        ended = jqueuer("submit", str(file))
        assert ended.exit_code == 0, ended.stderr
        return ended.stdout.strip()

    return send


def document(ended: Result) -> dict[str, Any]:
    """Stdout, which is nothing but one JSON document."""
    found: dict[str, Any] = json.loads(ended.stdout)
    return found


def lines(ended: Result) -> list[dict[str, Any]]:
    return [json.loads(line) for line in ended.stdout.splitlines()]


def test_submit_and_wait_summarises_and_exits_with_0(jqueuer: Command, tmp_path: Path) -> None:
    (tmp_path / "data.txt").write_text("data\n")
    (tmp_path / "sweep.yaml").write_text(SMALL)
    ended = jqueuer("submit", str(tmp_path / "sweep.yaml"), "--wait", "--json")
    summary = document(ended)
    assert ended.exit_code == 0
    assert (summary["state"], summary["jobs"]["accomplished"], summary["deadline_met"]) == ("accomplished", 3, True)
    assert "accomplished · 3/3 jobs" in ended.stderr


def test_the_life_of_an_experiment_can_be_looked_at(
    jqueuer: Command, submit: Callable[[str], str], tmp_path: Path
) -> None:
    experiment_id = submit(SMALL)
    watched = jqueuer("watch", experiment_id, "--json")
    assert watched.exit_code == 0
    *changes, summary = lines(watched)
    assert all(change["id"] == experiment_id for change in changes)
    assert summary["state"] == changes[-1]["state"] == "accomplished"

    waited = jqueuer("wait", experiment_id)
    assert waited.stdout.startswith(f"accomplished  small  {experiment_id}\n")

    assert experiment_id in [item["id"] for item in document(jqueuer("list", "--json"))["experiments"]]
    assert len(document(jqueuer("list", "--limit", "1", "--json"))["experiments"]) == 1
    assert experiment_id in jqueuer("list", "--state", "accomplished").stdout
    assert experiment_id not in jqueuer("list", "--state", "failed").stdout

    assert document(jqueuer("status", experiment_id, "--json"))["jobs"]["accomplished"] == 3
    assert "accomplished · 3/3 jobs" in jqueuer("status", experiment_id).stdout
    jobs = lines(jqueuer("status", experiment_id, "--jobs", "accomplished", "--json"))
    assert [job["id"] for job in jobs] == ["n1", "n2", "n3"]
    assert jqueuer("status", experiment_id, "--jobs", "failed").stdout == "job  attempts  exit code  node  reason\n"

    entries = document(jqueuer("explain", experiment_id, "--json"))["entries"]
    assert "create" in [entry["action"] for entry in entries]
    told = jqueuer("explain", experiment_id, "--last", "1").stdout.splitlines()
    assert told[0].split() == ["after", "decision", "containers", "why"]
    assert len(told) == 2
    assert "jobs_left" in jqueuer("explain", experiment_id, "--inputs").stdout


def test_results_are_listed_and_downloaded(jqueuer: Command, submit: Callable[[str], str], tmp_path: Path) -> None:
    experiment_id = submit(SMALL)
    assert jqueuer("wait", experiment_id).exit_code == 0
    assert sorted(item["path"] for item in document(jqueuer("results", experiment_id, "--json"))["outputs"]) == [
        "all.txt",
        "result.txt",
        "result.txt",
        "result.txt",
    ]
    assert jqueuer("results", experiment_id).stdout.splitlines()[1].split() == ["n1", "result.txt", "2", "B"]
    target = tmp_path / "fetched"
    fetched = document(jqueuer("results", experiment_id, "--download", str(target), "--json"))
    assert fetched == {"directory": str(target), "files": 4, "post": [str(target / "post" / "all.txt")]}
    assert (target / "jobs" / "n2" / "result.txt").read_text() == "2\n"
    assert (target / "post" / "all.txt").read_text() == "1\n2\n3\n"


def test_logs_are_printed_as_they_were_written(jqueuer: Command, submit: Callable[[str], str]) -> None:
    experiment_id = submit(SMALL)
    followed = jqueuer("logs", experiment_id, "n3", "--follow")
    assert (followed.exit_code, followed.stdout) == (0, "out 3\ndata\n")
    assert jqueuer("logs", experiment_id, "n3", "--stderr", "--attempt", "1").stdout == "err 3\n"
    printed = lines(jqueuer("logs", experiment_id, "n3", "--json"))
    assert "".join(chunk["text"] for chunk in printed) == "out 3\ndata\n"
    assert {(chunk["attempt"], chunk["stream"]) for chunk in printed} == {(1, "stdout")}
    missing = jqueuer("logs", experiment_id, "n3", "--attempt", "2")
    assert (missing.exit_code, missing.stderr) == (3, "job n3 has no attempt 2: it has had 1\n")


def test_a_failed_experiment_exits_with_1_and_can_be_retried(jqueuer: Command, submit: Callable[[str], str]) -> None:
    experiment_id = submit(FAILING)
    ended = jqueuer("wait", experiment_id, "--json")
    assert (ended.exit_code, document(ended)["state"]) == (1, "failed")
    assert "bad" in jqueuer("status", experiment_id, "--jobs", "failed").stdout
    assert document(jqueuer("retry", experiment_id, "--json"))["jobs"] == 1
    again = jqueuer("watch", experiment_id)
    assert again.exit_code == 1
    assert again.stdout.startswith("failed  failing")
    assert "1 accomplished, 1 failed" in again.stdout
    assert jqueuer("retry", experiment_id).stdout == f"{experiment_id}: 1 job queued again, running\n"


def test_an_experiment_can_be_paused_resumed_given_time_and_cancelled(
    jqueuer: Command, submit: Callable[[str], str]
) -> None:
    experiment_id = submit(ENDLESS)
    assert document(jqueuer("pause", experiment_id, "--json"))["state"] == "paused"
    assert jqueuer("resume", experiment_id).stdout == f"{experiment_id}: running\n"
    assert jqueuer("deadline", experiment_id, "2h").stdout == f"{experiment_id}: deadline 2h\n"
    seconds_left = document(jqueuer("status", experiment_id, "--json"))["seconds_left"]
    assert 7000 < seconds_left <= 7200
    assert jqueuer("cancel", experiment_id).exit_code == 0
    ended = jqueuer("wait", experiment_id)
    assert (ended.exit_code, ended.stdout.split()[0]) == (1, "cancelled")


def test_a_wrong_deadline_is_refused_in_words(jqueuer: Command, submit: Callable[[str], str]) -> None:
    experiment_id = submit(ENDLESS)
    ended = jqueuer("deadline", experiment_id, "soon")
    assert (ended.exit_code, ended.stdout) == (2, "")
    assert "soon" in ended.stderr
    assert jqueuer("cancel", experiment_id).exit_code == 0


@pytest.mark.parametrize("command", ["status", "wait", "watch", "explain", "results", "pause", "cancel", "retry"])
def test_an_unknown_experiment_is_one_sentence_and_exit_code_3(jqueuer: Command, command: str) -> None:
    ended = jqueuer(command, "nothing-here")
    assert (ended.exit_code, ended.stdout) == (3, "")
    assert "nothing-here" in ended.stderr
    assert ended.stderr.count("\n") == 1


def test_a_missing_input_is_a_fault_of_the_description(jqueuer: Command, tmp_path: Path) -> None:
    file = tmp_path / "sweep.yaml"
    file.write_text("inputs: [nowhere.txt]\njobs: [{command: ['true']}]\n")
    ended = jqueuer("submit", str(file))
    assert ended.exit_code == 2
    assert ended.stderr.startswith(f"{file}: inputs[0]: ")
    assert "nowhere.txt" in ended.stderr
