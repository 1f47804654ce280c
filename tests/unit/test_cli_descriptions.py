"""``validate``, ``schema``, help and usage: the commands that need no manager."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest
import yaml
from typer.testing import CliRunner, Result

from jqueuer.cli import app

EXPERIMENTS = Path(__file__).resolve().parents[2] / "experiments"
COMMANDS = [
    *("run", "serve", "manager", "agent", "submit", "wait", "watch", "list", "status", "explain", "results", "logs"),
    *("pause", "resume", "cancel", "retry", "deadline", "validate", "schema", "quote", "simulate"),
]


def jqueuer(*arguments: str) -> Result:
    return CliRunner().invoke(app, arguments, prog_name="jqueuer")


def written(folder: Path, text: str, name: str = "sweep.yaml") -> str:
    path = folder / name
    path.write_text(text)
    return str(path)


def test_the_demo_experiment_is_valid() -> None:
    ended = jqueuer("validate", str(EXPERIMENTS / "epidemic.yaml"))
    assert (ended.exit_code, ended.stderr) == (0, "")
    assert ended.stdout.endswith("epidemic.yaml: valid: 320 jobs, 1..4 containers, deadline 1m30s\n")


def test_every_fault_stands_on_a_line_of_its_own_with_file_and_line(tmp_path: Path) -> None:
    file = written(tmp_path, "deadlin: 90s\njobs:\n  - {id: a/b, command: ['true']}\n")
    ended = jqueuer("validate", file)
    assert (ended.exit_code, ended.stdout) == (2, "")
    first, second = sorted(ended.stderr.splitlines())
    assert first.startswith(f"{file}:1: deadlin: ")
    assert "deadline" in first
    assert second.startswith(f"{file}:3: jobs[0].id: ")


def test_faults_as_json_are_one_document(tmp_path: Path) -> None:
    ended = jqueuer("validate", "--json", written(tmp_path, "jobs: 3\n"))
    answer = json.loads(ended.stdout)
    assert (ended.exit_code, answer["valid"], ended.stderr) == (2, False, "")
    assert answer["faults"][0]["path"] == "jobs"


def test_what_was_understood_as_json(tmp_path: Path) -> None:
    ended = jqueuer("validate", "--json", written(tmp_path, "deadline: 1h\njobs: [{command: ['true']}]\n"))
    answer = json.loads(ended.stdout)
    assert (ended.exit_code, answer["valid"], answer["jobs"], answer["dialect"]) == (0, True, 1, "native")
    assert answer["experiment"]["name"] == "sweep"
    assert answer["experiment"]["deadline"] == "1h"


def test_a_file_of_lines_is_checked_line_by_line(tmp_path: Path) -> None:
    good = '{"name": "lines"}\n{"id": "a", "command": ["true"]}\n\n{"command": ["true"]}\n'
    assert "valid: 2 jobs" in jqueuer("validate", written(tmp_path, good, "good.jsonl")).stdout
    again = '{"id": "a", "command": ["true"]}\n'
    bad = '{"name": "lines"}\n' + again + again + '{"id": "b", "comand": 1}\n'
    file = written(tmp_path, bad, "bad.jsonl")
    lines = jqueuer("validate", file).stderr.splitlines()
    assert lines[0] == f"{file}:3: id: 'a' is the id of an earlier job"
    assert all(line.startswith(f"{file}:4: ") for line in lines[1:])
    assert len(lines) > 1


@pytest.mark.parametrize("text", ["", '{"name": "no jobs"}\n'])
def test_a_file_of_lines_without_jobs_is_wrong(tmp_path: Path, text: str) -> None:
    ended = jqueuer("validate", written(tmp_path, text, "empty.jsonl"))
    assert ended.exit_code == 2
    assert "empty.jsonl" in ended.stderr


@pytest.mark.parametrize("command", ["run", "submit"])
def test_a_wrong_description_is_refused_before_anything_starts(tmp_path: Path, command: str) -> None:
    state = tmp_path / "state"
    file = written(tmp_path, "jobs: []\n")
    ended = CliRunner(env={"JQUEUER_STATE_DIR": str(state), "JQUEUER_URL": "http://127.0.0.1:1"}).invoke(
        app, [command, "--json", file]
    )
    assert (ended.exit_code, ended.stdout) == (2, "")
    assert ended.stderr.startswith(f"{file}:1: jobs: ")
    assert not state.exists()


def test_the_schema_is_a_schema_that_accepts_the_demo() -> None:
    ended = jqueuer("schema")
    schema = json.loads(ended.stdout)
    jsonschema.validators.validator_for(schema).check_schema(schema)
    jsonschema.validate(yaml.safe_load((EXPERIMENTS / "epidemic.yaml").read_text()), schema)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({"jobz": []}, schema)


def test_help_lists_every_command_and_the_exit_codes() -> None:
    ended = jqueuer("--help")
    assert ended.exit_code == 0
    for command in COMMANDS:
        assert f"\n  {command} " in ended.stdout
    assert "130 interrupted" in ended.stdout


@pytest.mark.parametrize("command", COMMANDS)
def test_the_help_of_every_command_shows_an_example(command: str) -> None:
    ended = jqueuer(command, "--help")
    assert ended.exit_code == 0
    assert "Examples:" in ended.stdout
    assert f"jqueuer {command}" in ended.stdout.split("Examples:")[1]


@pytest.mark.parametrize("arguments", [("nosuch",), ("run",), ("run", "missing.yaml"), ("list", "--state", "odd")])
def test_wrong_usage_exits_with_2(arguments: tuple[str, ...]) -> None:
    ended = jqueuer(*arguments)
    assert (ended.exit_code, ended.stdout) == (2, "")
    assert "jqueuer" in ended.stderr


def test_a_manager_that_does_not_answer_is_said_in_one_line() -> None:
    ended = jqueuer("status", "some-id", "--url", "http://127.0.0.1:1")
    assert (ended.exit_code, ended.stdout) == (3, "")
    assert ended.stderr.startswith("no answer from the manager at http://127.0.0.1:1: ")
    assert ended.stderr.count("\n") == 1
