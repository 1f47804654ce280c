"""Submitting a file with whatever it refers to."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from jqueuer.client import ClientError
from jqueuer.client.submission import prepare, source_of, submit_file
from jqueuer.errors import DescriptionError
from jqueuer.records import JobRecord
from tests.embedded.api_manager import Manager


def sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def write(directory: Path, **files: str) -> None:
    for name, text in files.items():
        path = directory / name.replace("__", "/").replace("_", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def jobs_of(manager: Manager, experiment_id: str) -> tuple[JobRecord, ...]:
    return manager.services.ledger.page(experiment_id).jobs


def test_inputs_on_every_level_are_sent_and_named_by_checksum(manager: Manager, tmp_path: Path) -> None:
    write(tmp_path, all_csv="all", data__one_csv="one", post_py="post")
    path = tmp_path / "study.yaml"
    path.write_text(
        "inputs: [all.csv]\n"
        "post: {command: [python3, post.py], inputs: [post.py]}\n"
        "jobs:\n"
        "- {id: a, command: ['true'], inputs: [{path: in.csv, source: data/one.csv}]}\n"
        "- {id: b, command: ['true']}\n"
    )
    submitted = submit_file(path, manager.api)
    record = manager.services.experiments.get(submitted["id"])
    assert [file.sha256 for file in record.description.inputs] == [sha256("all")]
    assert record.description.post is not None
    assert [file.sha256 for file in record.description.post.inputs] == [sha256("post")]
    first, second = jobs_of(manager, record.id)
    assert [(file.path, file.sha256) for file in first.spec.inputs] == [("in.csv", sha256("one"))]
    assert second.spec.inputs == ()
    assert record.description.name == "study"
    assert (record.source, record.source_digest) == source_of(path)


def test_a_submission_is_another_one_once_anything_it_refers_to_has_changed(tmp_path: Path) -> None:
    """So that a run is gone on with only where nothing was edited meanwhile."""
    write(tmp_path, program_py="one", table_csv="n\n1\n")
    path = tmp_path / "study.yaml"
    path.write_text("inputs: [program.py]\nsweep: {csv: table.csv, job: {command: [python3, program.py, '{{n}}']}}\n")
    first = source_of(path)
    assert source_of(path) == first
    (tmp_path / "program.py").write_text("two")
    second = source_of(path)
    (tmp_path / "table.csv").write_text("n\n2\n")
    third = source_of(path)
    path.write_text("name: renamed\n" + path.read_text())
    assert len({first, second, third, source_of(path)}) == 4


def test_a_sweep_stays_ten_lines_and_carries_its_table(manager: Manager, tmp_path: Path) -> None:
    write(tmp_path, table_csv="beta,gamma\n0.1,1\n0.2,2\n")
    path = tmp_path / "sweep.yaml"
    path.write_text("sweep: {csv: table.csv, job: {command: [echo, '{{beta}}', '{{gamma}}']}}\n")
    assert len(prepare(path, manager.api).document or b"") < 300
    submitted = submit_file(path, manager.api)
    commands = [job.spec.tasks[0].command for job in jobs_of(manager, submitted["id"])]
    assert commands == [("echo", "0.1", "1"), ("echo", "0.2", "2")]


def test_a_sweep_over_input_files_sends_each_of_them(manager: Manager, tmp_path: Path) -> None:
    write(tmp_path, data__1_csv="one", data__2_csv="two", tool_py="tool")
    path = tmp_path / "sweep.yaml"
    path.write_text(
        "deadline: 90m\ninputs: [tool.py]\nsweep:\n  parameters: {n: [1, 2]}\n"
        "  job: {command: [cat], inputs: ['data/{{n}}.csv']}\n"
    )
    submitted = submit_file(path, manager.api)
    inputs = [[file.sha256 for file in job.spec.inputs] for job in jobs_of(manager, submitted["id"])]
    assert inputs == [[sha256("one")], [sha256("two")]]
    description = manager.services.experiments.get(submitted["id"]).description
    assert (description.name, description.deadline) == ("sweep", 5400.0)
    assert [job.spec.parameters for job in jobs_of(manager, submitted["id"])] == [{"n": 1}, {"n": 2}]


def test_a_file_of_lines_is_streamed_with_its_inputs(manager: Manager, tmp_path: Path) -> None:
    write(tmp_path, a_csv="a")
    path = tmp_path / "jobs.jsonl"
    lines = [{"name": "lines"}, {"id": "x", "command": ["true"], "inputs": ["a.csv"]}, {"id": "y", "command": ["true"]}]
    path.write_text("\n".join(json.dumps(line) for line in lines))
    submitted = submit_file(path, manager.api)
    first, second = jobs_of(manager, submitted["id"])
    assert [file.sha256 for file in first.spec.inputs] == [sha256("a")]
    assert second.spec.id == "y"


def test_a_missing_input_is_a_fault_that_names_it_before_anything_is_submitted(
    manager: Manager, tmp_path: Path
) -> None:
    path = tmp_path / "study.yaml"
    path.write_text("jobs:\n- {id: a, command: ['true'], inputs: [nowhere.csv]}\n")
    with pytest.raises(DescriptionError) as caught:
        submit_file(path, manager.api)
    assert caught.value.faults[0].path == "jobs[0].inputs[0]"
    assert "nowhere.csv" in caught.value.faults[0].message
    assert manager.nothing_remains()


def test_a_fault_in_the_file_is_found_before_anything_is_sent(manager: Manager, tmp_path: Path) -> None:
    write(tmp_path, all_csv="all")
    path = tmp_path / "study.yaml"
    path.write_text("inputs: [all.csv]\ndeadlin: 90m\njobs: [{command: ['true']}]\n")
    with pytest.raises(DescriptionError, match="line 2"):
        submit_file(path, manager.api)
    assert not manager.api.has_input(sha256("all"))


def test_a_fault_in_a_file_of_lines_ends_the_stream_and_leaves_nothing(
    manager: Manager, tmp_path: Path, eventually: Callable[[Callable[[], object], float], None]
) -> None:
    path = tmp_path / "jobs.jsonl"
    path.write_text('{"name": "x"}\n' + '{"command": ["true"]}\n' * 3000 + '{"command": 5}\n')
    with pytest.raises((DescriptionError, ClientError)) as caught:
        submit_file(path, manager.api)
    assert caught.value.faults[0].line == 3002
    eventually(manager.nothing_remains, 10)


def test_a_2018_file_goes_out_unchanged(manager: Manager, tmp_path: Path) -> None:
    text = (
        "{'image_url': 'me/w', 'experiment_deadline': '1#h', 'single_task_duration': '5#s', 'replica_min': '1',\n"
        " 'replica_max': '2', 'params': [], 'command': ['echo'],\n"
        " 'jobs': {'count': 3, 'id': 'a', 'params': [], 'tasks': {'count': 1, 'id': 't', 'data': ['1']}}}"
    )
    path = tmp_path / "old.json"
    path.write_text(text)
    assert prepare(path, manager.api).document == text.encode()
    assert submit_file(path, manager.api)["jobs"] == 3
