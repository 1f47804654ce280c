"""Scenarios as people write them."""

from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from jqueuer.errors import DescriptionError
from jqueuer.simulation import Scenario, simulate
from jqueuer.simulation.files import load
from jqueuer.simulation.streams import works
from tests.simulation.building import scenario

WHOLE = """
description: everything a scenario may say
jobs: 12
durations: {bimodal: {short: 10s, long: 1m, share_long: 0.2}}
contention: {1: 10s, 4: 12s}
experiment: {deadline: 10m, estimate: 10s, containers: {max: 4}, policy: {name: deadline-2018, margin: 10s}}
cluster: {nodes: 2, slots: 2, start_delay: 1s, image_pull: {normal: {mean: 5s, deviation: 1s}}, scale_down: kill}
failures: 0.1
node_loss: [{at: 30s, node: 1, back: 1m}]
changes: [{at: 1m, deadline: 5m}]
lease: 20s
look: 2s
gap: 100ms
"""


def write(directory: Path, text: str) -> Path:
    path = directory / "mine.yaml"
    path.write_text(text)
    return path


def test_a_scenario_is_read_and_named_after_its_file(tmp_path: Path) -> None:
    read = load(write(tmp_path, WHOLE))
    assert (read.name, read.jobs, read.lease, read.gap) == ("mine", 12, 20.0, 0.1)
    assert read.experiment.policy.margin == 10.0
    outcome = simulate(read)
    assert outcome.accomplished + outcome.failed == 12


def test_durations_come_from_a_column_of_a_file_beside_it(tmp_path: Path) -> None:
    (tmp_path / "jobs.csv").write_text("job,seconds\na,1.5\nb,2\nc,30\n")
    read = load(write(tmp_path, "durations: {csv: {file: jobs.csv, column: seconds}}\nexperiment: {}\n"))
    assert read.jobs == 3
    assert list(works(read, seed=5)) == [1.5, 2.0, 30.0]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("jobs: [", "not valid YAML"),
        ("- 1", "expected a mapping"),
        ("jobs: 5\nexperiment: {}\n", "durations: required, but missing"),
        ("jobs: 5\ndurations: 5s\nexperiment: {}\nnode: 3\n", "node: unknown key"),
        ("jobs: 5\ndurations: {constant: 5s, normal: {mean: 1s, deviation: 1s}}\nexperiment: {}\n", "exactly one of"),
        ("jobs: 5\ndurations: {pareto: {alpha: 1, mean: 5s}}\nexperiment: {}\n", "no mean with alpha 1"),
        ("jobs: 5\ndurations: {pareto: {alpha: 2}}\nexperiment: {}\n", "either minimum or mean"),
        ("jobs: 5\ndurations: 5s\nexperiment: {deadline: 2030-01-01T00:00:00Z}\n", "there is no calendar"),
        ("jobs: 5\ndurations: 5s\nexperiment: {policy: {url: 'http://x/'}}\n", "in virtual time"),
        ("jobs: 5\ndurations: 5s\nexperiment: {}\nnode_loss: [{at: 5s, node: 2}]\n", "there are only 1"),
        ("jobs: 5\ndurations: 5s\nexperiment: {}\nnode_loss: [{at: 5s, node: 1, back: 4s}]\n", "before it is lost"),
        ("durations: {csv: {file: a.csv, column: x}}\nexperiment: {}\n", "no column 'x'; it has y"),
        ("durations: {csv: {file: a.csv, column: y}}\nexperiment: {}\n", "line 3 of a.csv: expected seconds, got 'z'"),
        ("durations: {csv: {file: a.csv}}\nexperiment: {}\n", "expected {file: jobs.csv, column: seconds}"),
    ],
)
def test_a_fault_is_told_with_its_place(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "a.csv").write_text("y\n1\nz\n")
    with pytest.raises(DescriptionError) as caught:
        load(write(tmp_path, text))
    assert said in str(caught.value)


def test_a_file_of_durations_is_not_read_where_nobody_may() -> None:
    with pytest.raises(ValidationError, match="was not read"):
        scenario(durations={"csv": {"file": "jobs.csv", "column": "seconds"}})


@pytest.mark.parametrize(
    ("form", "mean"),
    [
        ("42s", 42.0),
        ({"normal": {"mean": "60s", "deviation": "10s"}}, 60.0),
        ({"log-normal": {"mean": "60s", "sigma": 1.0}}, 60.0),
        ({"pareto": {"alpha": 3, "mean": "60s"}}, 60.0),
        ({"pareto": {"alpha": 3, "minimum": "40s"}}, 60.0),
        ({"bimodal": {"short": "10s", "long": "110s", "share_long": 0.25, "sigma": 0.5}}, 35.0),
        ({"list": ["10s", "20s", "60s"]}, 30.0),
    ],
)
def test_draws_have_the_mean_they_were_given(form: Any, mean: float) -> None:
    many: Scenario = scenario(durations=form, jobs=30_000)
    drawn = works(many, seed=1)
    assert many.durations.mean_seconds == pytest.approx(mean)
    assert sum(drawn) / len(drawn) == pytest.approx(mean, rel=0.05)
    assert min(drawn) > 0
