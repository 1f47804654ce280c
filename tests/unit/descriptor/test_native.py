from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest

from jqueuer.descriptor import Description, known_policies, read_description
from jqueuer.errors import DescriptionError
from jqueuer.model import Job, Shell, Task

DATA = Path(__file__).parents[2] / "data" / "native"


def read(text: str) -> Description:
    return read_description(text.encode())


def jobs_of(text: str) -> list[Job]:
    return list(read(f"jobs:\n{text}").jobs)


def test_a_whole_description_is_read() -> None:
    description = read_description((DATA / "list.yaml").read_bytes())
    experiment = description.experiment
    assert (description.dialect, description.count, description.notices) == ("native", 3, ())
    assert (experiment.name, experiment.deadline, experiment.estimate, experiment.timeout) == (
        "night run",
        5400.0,
        120.0,
        600.0,
    )
    assert experiment.environment == {"MODE": "fast", "THREADS": "2", "VERBOSE": "true"}
    assert experiment.resources.memory.reserve == 200 * 1024**2
    assert experiment.on_failure.exit_codes == (75, 137)
    assert experiment.inputs[1].source == "conf/fast.json"
    first, second, third = description.jobs
    assert first.tasks == (Task(command=("python3", "run.py", "--seed", "1"), timeout=90.0),)
    assert [type(task.command) for task in second.tasks] == [tuple, Shell, tuple]
    assert third.id == "3"


def test_jobs_can_be_iterated_again_and_again() -> None:
    for name in ("list.yaml", "sweep.yaml"):
        jobs = read_description((DATA / name).read_bytes()).jobs
        assert list(jobs) == list(jobs) != []


def test_yaml_and_json_mean_the_same() -> None:
    from_json = read('{"name": "x", "deadline": "90m", "jobs": [{"id": "a", "command": ["run", 1, true]}]}')
    from_yaml = read("name: x\ndeadline: 90m\njobs:\n- id: a\n  command: [run, 1, true]\n")
    assert (from_json.experiment, list(from_json.jobs)) == (from_yaml.experiment, list(from_yaml.jobs))


@pytest.mark.parametrize(
    "task",
    [
        "[a, b]",
        "{command: [a, b]}",
        "{shell: a | b}",
        "{shell: a | b, timeout: 5s}",
        "{command: {shell: a}, timeout: 5}",
    ],
)
def test_a_task_may_be_written_short(task: str) -> None:
    (job,) = jobs_of(f"- tasks: [{task}]")
    (parsed,) = job.tasks
    assert parsed.command == (Shell(shell="a | b" if "|" in task else "a") if "shell" in task else ("a", "b"))
    assert parsed.timeout == (5.0 if "timeout" in task else None)


def test_numbers_become_words_as_they_were_written() -> None:
    (job,) = jobs_of(
        "- {id: 12e3, command: [run, 1.10, 007, 1e-3, -0, 5], environment: {VERSION: 3.10}, parameters: {x: 1.10}}"
    )
    assert job.id == "12e3"
    assert job.tasks[0].command == ("run", "1.10", "007", "1e-3", "-0", "5")
    assert job.environment == {"VERSION": "3.10"}
    assert type(job.parameters["x"]) is float
    (job,) = read('{"jobs": [{"command": ["run", 1.10, 1E2]}]}').jobs
    assert job.tasks[0].command == ("run", "1.10", "1E2")


def test_missing_ids_are_padded_places_in_the_list() -> None:
    assert [job.id for job in jobs_of("- {command: [x]}\n" * 12)] == [f"{number:02d}" for number in range(1, 13)]


def test_a_bare_word_names_the_policy_or_the_action() -> None:
    experiment = read("policy: fixed\non_failure: cancel\njobs: [{command: [x]}]").experiment
    assert (experiment.policy.name, experiment.on_failure.action) == ("fixed", "cancel")


def test_every_policy_of_the_autoscaler_can_be_named_but_the_one_behind_a_url() -> None:
    assert {"deadline-paper", "deadline-2018", "fixed"} <= set(known_policies())
    needs = (
        "budget: {container_hours: 1}, target: 1h, schedule: [{from: '08:00', to: '18:00', containers: 1}]"  # for any
    )
    for name in known_policies():
        assert read(f"policy: {{name: {name}, {needs}}}\njobs: [{{command: [x]}}]").experiment.policy.name == name
    with pytest.raises(DescriptionError, match="give its url instead"):
        read("policy: rest\njobs: [{command: [x]}]")


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("90", 90.0),
        ("1h30m", 5400.0),
        ("2030-01-02T03:04:05Z", datetime(2030, 1, 2, 3, 4, 5, tzinfo=UTC)),
        ("2030-01-02 03:04:05+01:00", datetime(2030, 1, 2, 3, 4, 5, tzinfo=timezone(timedelta(hours=1)))),
        ('"2030-01-02T03:04+0100"', datetime(2030, 1, 2, 3, 4, tzinfo=timezone(timedelta(hours=1)))),
    ],
)
def test_a_deadline_is_relative_or_absolute(written: str, expected: object) -> None:
    assert read(f"deadline: {written}\njobs: [{{command: [x]}}]").experiment.deadline == expected


@pytest.mark.parametrize(
    ("source", "name"),
    [("", "experiment"), ("experiments/epidemic.yaml", "epidemic"), ("/a/b/.my über file!.json", "my -ber file-")],
)
def test_an_experiment_without_a_name_is_called_after_its_file(source: str, name: str) -> None:
    assert read_description(b"jobs: [{command: [x]}]", source=source).experiment.name == name
    assert read_description(b"name: own\njobs: [{command: [x]}]", source=source).experiment.name == "own"


def test_inputs_of_the_experiment_and_of_its_jobs_may_not_overwrite_each_other() -> None:
    for jobs in ("jobs: [{command: [x], inputs: [b, a]}]", "sweep: {repeat: 2, job: {command: [x], inputs: [a]}}"):
        with pytest.raises(DescriptionError, match="two inputs have the path 'a'"):
            read(f"inputs: [a]\n{jobs}")
