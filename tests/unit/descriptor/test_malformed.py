"""Every malformed description is refused with a fault that names what is wrong."""

import re

import pytest

from jqueuer.descriptor import read_description
from jqueuer.errors import DescriptionError
from tests.bad_input.descriptions import CASES, JOBS, native, sweep


@pytest.mark.parametrize(("data", "fragment"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_it_is_refused_and_named(data: bytes, fragment: str) -> None:
    with pytest.raises(DescriptionError, match=re.escape(fragment)) as caught:
        read_description(data)
    assert all(len(fault.message) < 400 for fault in caught.value.faults)
    str(caught.value).encode()


def test_names_of_the_cases_are_their_own() -> None:
    assert len({name for name, _, _ in CASES}) == len(CASES) >= 30


def faults_of(data: bytes) -> list[tuple[str, int | None]]:
    with pytest.raises(DescriptionError) as caught:
        read_description(data)
    return [(fault.path, fault.line) for fault in caught.value.faults]


def test_all_faults_are_reported_at_once_with_their_lines_in_yaml() -> None:
    text = b"""\
name: ../x
deadlin: 5m
containers:
  min: 7
  max: 3
environment: {A: null}
policy:
  name: none
jobs:
  - id: a
    command: run it
  - id: b
    tasks:
      - [x]
      - shell: ""
  - id: a/b
    command: [x]
    inputs: [ok, ../no]
  - id: b
    command: [x]
"""
    assert faults_of(text) == [
        ("name", 1),
        ("deadlin", 2),
        ("containers", 3),
        ("environment.A", 6),
        ("policy.name", 8),
        ("jobs[0].command", 11),
        ("jobs[1].tasks[1].shell", 15),
        ("jobs[2].id", 16),
        ("jobs[2].inputs[1]", 18),
    ]


def test_lines_are_known_in_json_too() -> None:
    assert faults_of(b'{\n"priority": "high",\n"jobs": [\n {"command": ["x"]},\n {\n"command": []}\n]}') == [
        ("priority", 2),
        ("jobs[1].command", 6),
    ]


def test_faults_of_a_sweep_are_reported_with_those_of_the_experiment() -> None:
    text = b"""\
estimate: -1
sweep:
  parameters: {x: [1, 2]}
  job:
    command: [run, "{{y}}"]
    outputs: ["{{z}}"]
"""
    assert faults_of(text) == [("estimate", 1), ("sweep.job.command[1]", 5), ("sweep.job.outputs[0]", 6)]


def test_a_second_job_of_one_id_names_both_positions() -> None:
    with pytest.raises(DescriptionError) as caught:
        read_description(native(jobs=[*JOBS, {"id": "b", "command": ["x"]}, *JOBS]))
    (fault,) = caught.value.faults
    assert (fault.path, fault.message) == ("jobs[2].id", "jobs[0] has the id 'a' already")


def test_beyond_a_hundred_faults_are_only_counted() -> None:
    with pytest.raises(DescriptionError) as caught:
        read_description(native(jobs=[{"id": "a"}] * 500))
    assert len(caught.value.faults) == 101
    assert caught.value.faults[-1].message == "and 400 more"


def test_a_huge_grid_is_refused_without_being_expanded() -> None:
    axis = {"from": 1, "to": 100_000, "step": 1}
    with pytest.raises(DescriptionError, match="makes 1000000000000000 jobs"):
        read_description(sweep(parameters={"x": axis, "y": axis, "z": axis}))


def test_the_greatest_number_of_jobs_is_the_callers() -> None:
    with pytest.raises(DescriptionError, match="more than the 1 allowed"):
        read_description(sweep(), max_jobs=1)
    assert read_description(sweep(), max_jobs=2).count == 2
