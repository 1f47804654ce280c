"""The policies against the authors' own run (tests/data/README.md)."""

import csv
from pathlib import Path

import pytest
from situations import situation

from cautoscaler import AutoscalerState, ContainerCounts, Situation, clamp, get, initial, step

SAMPLES = [
    {column: float(value) for column, value in row.items()}
    for row in csv.DictReader((Path(__file__).parents[2] / "data" / "paper_run.csv").open())
]
BEFORE_THE_END = [sample for sample in SAMPLES if sample["jobs_accomplished"] < 500]
LAG_SAMPLES = 4
"""40 s: the period of the calculation and that of the monitoring."""


def seen(sample: dict[str, float], requested: int = 0) -> Situation:
    accomplished = int(sample["jobs_accomplished"])
    return situation(
        now=sample["seconds"],
        jobs_left=500 - accomplished,
        jobs_accomplished=accomplished,
        mean_task_seconds=sample["mean_job_seconds"] or None,
        requested=requested,
        containers=ContainerCounts(busy=round(sample["replicas_running"])),
    )


def agreement(policy: str, samples: list[dict[str, float]]) -> float:
    """The share of samples whose recorded need is one the calculator came to within the lag before."""
    ours = [clamp(get(policy).suggest(seen(sample)).needed, minimum=0, maximum=10).value for sample in samples]
    hits = [
        sample["replicas_needed"] in ours[max(0, index - LAG_SAMPLES) : index + 1]
        for index, sample in enumerate(samples)
    ]
    return sum(hits) / len(hits)


def test_the_need_of_2018_is_the_recorded_one() -> None:
    """It differs at the first sample, at three in mid-run, and after the end, when the record keeps its last number."""
    assert agreement("deadline-2018", SAMPLES) >= 0.97
    assert agreement("deadline-2018", BEFORE_THE_END) >= 0.99


def test_the_need_as_the_paper_prints_it_is_not_what_ran() -> None:
    """The pace correction is missing, which kept the recorded number up after the slow start of the containers."""
    assert agreement("deadline-paper", BEFORE_THE_END) == pytest.approx(0.84, abs=0.01)


def test_the_rule_of_2018_takes_the_recorded_steps() -> None:
    """Fed with the recorded jobs, it requests the recorded numbers in their order, each before it was seen running."""
    recorded = [(0.3, 10), (15.8, 9), (18.3, 8), (21.3, 6), (37.8, 5), (62.3, 4), (73.4, 3), (83.9, 2), (86.9, 3)]
    requested = initial("deadline-2018", seen(SAMPLES[0])).target
    state, steps = AutoscalerState("deadline-2018"), [(0.0, requested)]
    for sample in SAMPLES[3::3]:
        state, decision = step(state, seen(sample, requested))
        if decision.verdict.acts:
            requested = decision.target
            steps.append((sample["seconds"] / 60, requested))
    steps = steps[: len(recorded)]
    assert [number for _, number in steps] == [number for _, number in recorded]
    assert all(0 <= then - minute < 2.5 for (minute, _), (then, _) in zip(steps, recorded, strict=True))
