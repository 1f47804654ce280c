"""A real experiment, replayed by ``jqueuer simulate --from-experiment``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from jqueuer.cli import app
from jqueuer.cli.recorded import fetch_records
from tests.embedded.running import System

MIXED = """
name: mixed
deadline: 1m
estimate: 200ms
containers: {min: 1, max: 2}
policy: {name: fixed, containers: 2}
on_failure: {action: requeue, max_attempts: 3, backoff: 100ms}
jobs:
  - {id: once, command: {shell: "sleep 0.2"}}
  - {id: twice, command: {shell: "sleep 0.1; test $JQUEUER_ATTEMPT = 2"}}
  - {id: again, command: {shell: "sleep 0.3"}}
  - {id: last, command: {shell: "sleep 0.2"}}
post: {command: [sleep, '0.2']}
"""


@pytest.fixture(scope="module")
def ended(system: System) -> str:
    """An experiment that has ended; its id."""
    experiment_id = system.submit(MIXED)
    system.api.wait(experiment_id, poll_seconds=0.05)
    return experiment_id


def jqueuer(system: System, *arguments: str) -> Result:
    return CliRunner(env=system.environment).invoke(app, arguments, prog_name="jqueuer")


def document(ended: Result) -> dict[str, Any]:
    assert ended.exit_code == 0, ended.stderr
    found: dict[str, Any] = json.loads(ended.stdout)
    return found


def test_all_of_an_experiment_is_in_its_records(system: System, ended: str) -> None:
    records = fetch_records(system.api, ended)
    assert records.counts.accomplished == 4
    assert sorted((one.job, one.outcome.value) for one in records.attempts) == [
        (0, "accomplished"),
        (1, "accomplished"),
        (1, "failed"),
        (2, "accomplished"),
        (3, "accomplished"),
    ]
    assert len({one.container for one in records.attempts}) == 2
    assert all(0.1 <= one.seconds < 5 for one in records.attempts)
    assert records.post_seconds >= 0.2
    assert {"create", "finish"} <= {entry.action for entry in records.decisions}


def test_the_real_outcome_and_the_simulated_ones_stand_side_by_side(system: System, ended: str) -> None:
    summary = system.api.summary(ended)
    answer = document(
        jqueuer(
            system, "simulate", "--from-experiment", ended, "--policy", "fixed", "--policy", "queue-length", "--json"
        )
    )
    assert list(answer) == ["scenario", "seeds", "recorded", "policies"]
    assert (answer["scenario"], answer["seeds"]) == (ended, 1)
    recorded = answer["recorded"]
    assert recorded["finished_seconds"] == pytest.approx(summary["finished_seconds"], abs=0.01)
    assert recorded["container_seconds"] == pytest.approx(summary["container_seconds"], abs=0.01)
    assert recorded["deadline_met"] == 1.0
    assert list(answer["policies"]) == ["fixed", "queue-length"]
    for simulated in answer["policies"].values():
        assert list(simulated) == list(recorded)
        assert simulated["job_seconds"] == pytest.approx(recorded["job_seconds"], rel=0.01)
    assert answer["policies"]["fixed"]["peak_containers"] == 2


def test_people_see_the_real_one_first_and_may_have_a_picture(system: System, ended: str, tmp_path: Path) -> None:
    picture = tmp_path / "replayed.png"
    told = jqueuer(system, "simulate", "--from-experiment", ended, "--plot", str(picture))
    assert told.exit_code == 0, told.stderr
    assert [line.split()[0] for line in told.stdout.splitlines()] == [f"{ended}:", "policy", "recorded", "fixed"]
    assert "notice: the post command is taken to last" in told.stderr
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_an_experiment_that_goes_on_is_not_replayed(system: System) -> None:
    endless = system.submit("name: endless\njobs: [{id: a, command: [sleep, '600']}]\n")
    refused = jqueuer(system, "simulate", "--from-experiment", endless)
    assert (refused.exit_code, refused.stdout) == (3, "")
    assert refused.stderr == f"{endless} can be replayed once it has ended: it is running\n"
    system.api.cancel(endless)
    system.api.wait(endless, poll_seconds=0.05)


def test_an_unknown_experiment_is_one_sentence(system: System) -> None:
    refused = jqueuer(system, "simulate", "--from-experiment", "nothing-here")
    assert (refused.exit_code, refused.stderr.count("\n")) == (3, 1)
    assert "nothing-here" in refused.stderr
