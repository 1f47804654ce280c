"""Both dialects of 2018, unchanged; what they leave open is decided as docs/description.md tells."""

import json
from pathlib import Path
from typing import Any

import pytest

from jqueuer.descriptor import Description, dump_description, read_description
from jqueuer.errors import DescriptionError
from jqueuer.model import Shell

DATA = Path(__file__).parents[2] / "data" / "2018"
TASK = {"id": "t", "command": ["run"], "data": []}


def read(name: str) -> Description:
    return read_description((DATA / name).read_bytes())


def a(**keys: Any) -> bytes:
    """A description of dialect A that is well but for these keys."""
    return json.dumps({"image_url": "app", "jobs": [{"id": "j", "tasks": [TASK]}], **keys}).encode()


def b(**keys: Any) -> bytes:
    """A description of dialect B that is well but for these keys."""
    return json.dumps({"container_name": "worker", "jobs": [{"id": "j", "tasks": [TASK]}], **keys}).encode()


def commands(data: bytes) -> list[object]:
    return [task.command for job in read_description(data).jobs for task in job.tasks]


@pytest.mark.parametrize("path", sorted(DATA.glob("[ab]_*.json")), ids=lambda path: path.stem)
def test_files_as_they_were_written_are_read(path: Path) -> None:
    description = read_description(path.read_bytes())
    assert description.dialect == ("2018-A" if path.name.startswith("a") else "2018-B")
    jobs = list(description.jobs)
    assert len(jobs) == len({job.id for job in jobs}) == description.count
    again = read_description(dump_description(description.experiment, jobs).encode())
    assert (again.experiment, list(again.jobs), again.dialect) == (description.experiment, jobs, "native")


def test_the_keys_of_the_paper_are_understood() -> None:
    description = read("a_paper.json")
    experiment = description.experiment
    assert (experiment.image, experiment.deadline, experiment.estimate) == ("registry.example/epidemic", 5400.0, 120.0)
    assert (experiment.containers.min, experiment.containers.max) == (1, 10)
    assert (experiment.resources.memory.reserve, experiment.resources.cpu.reserve) == (200_000_000, 0.1)
    assert (experiment.policy.name, experiment.append_worker_id) == ("deadline-2018", True)
    assert experiment.on_failure.action == "requeue"
    first, second = description.jobs
    assert [task.command for task in first.tasks] == [
        ("/opt/simulate.sh", "town", "http://files.example/input/parameters_0.xml")
    ]
    assert [task.command for task in second.tasks] == [
        ("/opt/simulate.sh", "town", "http://files.example/input/parameters_1.xml"),
        ("/opt/collect.sh", '{"scenario": "1", "sleep": "10"}'),
    ]


def test_arrays_of_jobs_and_tasks_are_counted_out_with_ids_of_their_own() -> None:
    description = read("a_arrays.json")
    assert [job.id for job in description.jobs] == ["job_-1", "job_-2", "job_-3", "job_-4"]
    data = '{"server": "192.0.2.1:8081", "verbose": true, "limit": null}'
    assert {task.command for job in description.jobs for task in job.tasks} == {("python3", "app.py", data)}
    assert [len(job.tasks) for job in description.jobs] == [3, 3, 3, 3]
    assert list(description.jobs) == list(description.jobs)


def test_ids_that_cannot_stand_are_changed_with_a_notice() -> None:
    description = read("a_repeated_ids.json")
    assert [job.id for job in description.jobs] == ["job_1", "job_2", "job_1-2", "job_1-3"]
    assert any("'../job 1' → 'job_1'" in notice for notice in description.notices)
    assert any("'job_1' → 'job_1-2'" in notice for notice in description.notices)


def test_the_variant_of_december_2017_names_its_service() -> None:
    description = read("a_december_2017.json")
    experiment = description.experiment
    assert (experiment.container_name, experiment.image, experiment.deadline) == ("customer_app1", None, None)
    assert experiment.append_worker_id
    (job,) = description.jobs
    assert job.tasks[0].command == ("python3", "app.py", '{"id": "id_1", "misc": ["198.51.100.7"]}')


def test_dialect_b_names_a_running_service_and_counts_in_seconds() -> None:
    description = read("b_service.json")
    experiment = description.experiment
    assert (experiment.container_name, experiment.image, experiment.append_worker_id) == ("worker", None, False)
    assert (experiment.deadline, experiment.estimate) == (2100.0, 600.0)
    assert [task.command for job in description.jobs for task in job.tasks] == [
        ("simulate", "input_1", "7"),
        Shell(shell="sleep 500"),
    ]
    defaults = read_description(b(experiment_deadline=0)).experiment
    assert (defaults.deadline, defaults.estimate) == (None, 300.0)


def test_one_word_with_spaces_is_a_shell_line_and_a_notice_says_so() -> None:
    """The line gets its data, and later the worker id, as further words; they are never pasted into it."""
    one = [{"id": "j", "tasks": [{"command": ["sleep 500"], "data": ["1; rm -rf /"]}]}]
    assert commands(b(jobs=one)) == [("/bin/sh", "-c", 'sleep 500 "$@"', "sh", "1; rm -rf /")]
    assert commands(a(jobs=[{"id": "j", "tasks": [{"command": ["sleep 500"]}]}])) == [
        ("/bin/sh", "-c", 'sleep 500 "$@"', "sh")
    ]
    assert any("'sleep 500'" in notice for notice in read_description(b(jobs=one)).notices)
    assert commands(b(jobs=[{"id": "j", "tasks": [{"command": ["sleep", "5 0"]}]}])) == [("sleep", "5 0")]


@pytest.mark.parametrize(
    ("job", "expected"),
    [
        ({"tasks": [{"command": ["own"]}]}, ("own", "d")),
        ({"command": ["of-job"], "tasks": [{"command": []}]}, ("of-job", "d")),
        ({"tasks": [{}]}, ("of-all", "d")),
        ({"tasks": [{"data": []}]}, ("of-all",)),
        ({"data": ["e"], "tasks": [{}]}, ("of-all", "e")),
        ({"data": ["e"], "tasks": [{"data": "f"}]}, ("of-all", "f")),
        ({"data": {}, "tasks": [{"data": [1, {"a": None}]}]}, ("of-all", "1", '{"a": null}')),
        ({"command": "bare"}, ("bare", "d")),
    ],
)
def test_a_task_takes_its_command_and_its_data_from_the_nearest_that_has_them(job: object, expected: object) -> None:
    assert commands(b(command=["of-all"], data=["d"], jobs=[job])) == [expected]


def test_what_has_no_meaning_is_ignored_with_a_notice() -> None:
    job = {"id": "j", "count": 5, "colour": "red", "params": ["p"], "tasks": [{**TASK, "size": 1}]}
    notices = read_description(a(replica_maxx="4", jobs=[job])).notices
    assert any("'replica_maxx'" in notice for notice in notices)
    assert any("'colour'" in notice and "'count'" in notice and "'size'" in notice for notice in notices)
    assert any("'params' have no effect" in notice for notice in notices)


@pytest.mark.parametrize(
    ("data", "dialect"),
    [
        (a(), "2018-A"),
        (b(), "2018-B"),
        (b'{"service_name": "s", "jobs": [{"command": ["x"]}]}', "2018-A"),
        (b"image_url: app\njobs: [{id: a, command: [x]}]", "2018-A"),
        (b"name: mine\ncontainer_name: worker\njobs: [{id: a, command: [x]}]", "native"),
        (b"jobs: [{id: a, command: [x]}]", "native"),
    ],
)
def test_the_dialect_is_recognised_by_its_keys(data: bytes, dialect: str) -> None:
    assert read_description(data).dialect == dialect


def test_a_native_key_beside_those_of_2018_makes_them_unknown() -> None:
    with pytest.raises(DescriptionError, match="unknown key 'image_url'; did you mean 'image'"):
        read_description(a(deadline="5m"))


@pytest.mark.parametrize(
    ("data", "path", "problem"),
    [
        (a(image_url="-v /:/host"), "image_url", "expected the name of an image"),
        (a(experiment_deadline="90m"), "experiment_deadline", "such as 90#m"),
        (a(experiment_deadline="400#d"), "experiment_deadline", "366 days"),
        (a(single_task_duration="0#s"), "single_task_duration", "more than 0"),
        (a(replica_min="-1"), "replica_min", "whole number between 0 and"),
        (a(replica_max="10001"), "replica_max", "whole number between 1 and 10000"),
        (a(replica_max="many"), "replica_max", "whole number"),
        (a(replica_min="5", replica_max="2"), "replica_min", "more than replica_max 2"),
        (a(reserve_memory="200 apples"), "reserve_memory", "expected a size"),
        (a(reserve_cpu="nan"), "reserve_cpu", "number of cores"),
        (b(container_name="a/b"), "container_name", "expected letters"),
        (b(single_task_duration=-5), "single_task_duration", "between 0 and 366 days"),
        (b(single_task_duration=True), "single_task_duration", "expected a duration"),
        (b(jobs="x"), "jobs", "expected a list of jobs"),
        (b(jobs=[5]), "jobs[0]", "expected a job"),
        (b(jobs=[{"id": ["x"], "tasks": [TASK]}]), "jobs[0].id", "expected text"),
        (b(jobs=[{"tasks": [TASK, 5]}]), "jobs[0].tasks[1]", "expected a task"),
        (b(jobs=[{"tasks": []}]), "jobs[0].tasks", "a list of 1 to"),
        (b(jobs=[{"tasks": {**TASK, "count": 0}}]), "jobs[0].tasks.count", "between 1 and"),
        (b(jobs=[{"tasks": [{"command": [None]}]}]), "jobs[0].tasks[0].command", "expected a list of words"),
        (b(jobs=[{"tasks": [{**TASK, "data": ["a\x00"]}]}]), "jobs[0].tasks[0].command", "NUL"),
        (b(jobs={"id": "a", "tasks": [{"data": []}]}), "jobs.tasks[0]", "no command here"),
        (b(jobs={"id": "a", "count": 1.5, "tasks": [TASK]}), "jobs.count", "whole number"),
    ],
)
def test_what_is_truly_wrong_is_refused_with_its_place(data: bytes, path: str, problem: str) -> None:
    with pytest.raises(DescriptionError) as caught:
        read_description(data)
    (fault,) = caught.value.faults
    assert fault.path == path
    assert problem in fault.message


def test_a_syntax_error_names_its_line() -> None:
    with pytest.raises(DescriptionError, match="line 4: expected a comma or the end of it, got '\"jobs\"'"):
        read("broken_missing_comma.json")


def test_all_faults_of_a_2018_file_are_reported_at_once() -> None:
    text = b"""{
  'image_url': 'app',
  'experiment_deadline': 'soon',
  'replica_max': 'many',
  'jobs': [
    {'tasks': [{'data': []}]},
    {'tasks': [
      {'command': [None]},
    ]},
  ],
}"""
    with pytest.raises(DescriptionError) as caught:
        read_description(text)
    assert [(fault.path, fault.line) for fault in caught.value.faults] == [
        ("experiment_deadline", 3),
        ("replica_max", 4),
        ("jobs[0].tasks[0]", 6),
        ("jobs[1].tasks[0].command", 8),
    ]
