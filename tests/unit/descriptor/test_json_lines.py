import json

import pytest
from hypothesis import given, settings

from jqueuer.descriptor import read_job_line, read_jobs_header
from jqueuer.errors import DescriptionError
from jqueuer.model import Experiment, Job, Task
from tests import strategies

PLAIN = Experiment()


def test_an_experiment_and_its_jobs_come_line_by_line() -> None:
    experiment = read_jobs_header(b'{"name": "stream", "deadline": "90m", "inputs": ["a"]}\n')
    assert (experiment.name, experiment.deadline) == ("stream", 5400.0)
    assert read_job_line(b'{"command": ["run", 1.10], "timeout": "5s"}\r\n', 2, experiment) == Job(
        id="000001", tasks=(Task(command=("run", "1.10"), timeout=5.0),)
    )
    assert read_job_line(b'{"command": ["x"]}', 1_000_001, experiment).id == "1000000"
    assert read_job_line(b'{"id": "own", "command": ["x"]}', 3, experiment).id == "own"


@given(strategies.experiments, strategies.jobs(inputs=strategies.st.just(())))
@settings(max_examples=50)
def test_what_the_models_print_can_be_streamed(experiment: Experiment, job: Job) -> None:
    assert read_jobs_header(experiment.model_dump_json().encode()) == experiment
    assert read_jobs_header(experiment.model_dump_json(exclude_defaults=True).encode()) == experiment
    assert read_job_line(job.model_dump_json(exclude_defaults=True).encode(), 2, experiment) == job


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        (b"", "the description is empty"),
        (b"name: x", "not valid JSON"),
        (b"[1]", "expected a mapping, got a list"),
        (b'{"name": "x", "jobs": []}', "the jobs follow, one per line"),
        (b'{"name": "x", "sweep": {}}', "the jobs follow, one per line"),
        (b'{"image_url": "x"}', "did you mean 'image'"),
        (b'{"policy": "none"}', "there is no policy 'none'"),
        (b'{"name": "a", "name": "b"}', "occurs twice"),
    ],
)
def test_a_wrong_header_is_refused(line: bytes, problem: str) -> None:
    with pytest.raises(DescriptionError, match=problem) as caught:
        read_jobs_header(line)
    assert {fault.line for fault in caught.value.faults} == {1}


@pytest.mark.parametrize(
    ("line", "path", "problem"),
    [
        (b'{"command": ["x"]', "", "not valid JSON"),
        (b"\xff", "", "not valid UTF-8"),
        (b"5", "", "expected a mapping, got 5"),
        (b"[" * 100_000, "", "nested more than 50"),
        (b'{"command": "run it"}', "command", "a command is a list of words"),
        (b'{"id": "a/b", "command": ["x"]}', "id", "expected letters"),
        (b'{"tasks": [["x"], []]}', "tasks[1]", "at least 1"),
        (b'{"comand": ["x"], "tasks": [["x"]]}', "comand", "did you mean 'command'"),
        (b'{"command": ["x"], "inputs": ["a"]}', "inputs", "two inputs have the path 'a'"),
        (json.dumps({"command": ["x"], "environment": {"A": None}}).encode(), "environment.A", "expected text"),
    ],
)
def test_a_wrong_job_is_refused_with_the_number_of_its_line(line: bytes, path: str, problem: str) -> None:
    experiment = read_jobs_header(b'{"inputs": ["a"]}')
    with pytest.raises(DescriptionError) as caught:
        read_job_line(line, 7, experiment)
    (fault,) = caught.value.faults
    assert (fault.path, fault.line) == (path, 7)
    assert problem in fault.message
