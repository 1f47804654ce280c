"""Faults of every kind while an experiment runs: nothing is lost, nothing is recorded twice."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from jqueuer.client import Client
from jqueuer.embedded import Embedded
from tests.chaos.diary import Diary
from tests.chaos.embedded_world import SETTINGS, EmbeddedWorld
from tests.chaos.report import last_line, table
from tests.chaos.running import Plan, Run
from tests.chaos.schedule import schedule
from tests.embedded.running import QUICK, System

SEED = 5
FAULTS = 12


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[[], System]]:
    started: list[System] = []

    def start() -> System:
        embedded = Embedded(tmp_path / "own", settings={**QUICK, **SETTINGS})
        embedded.start()
        started.append(System(embedded, Client(embedded.url, token=embedded.token)))
        return started[-1]

    yield start
    for system in started:
        system.embedded.stop(force=True)


def test_twelve_faults_lose_no_job_double_no_outcome_and_cost_no_more_than_what_they_hit(
    start: Callable[[], System], tmp_path: Path
) -> None:
    world = EmbeddedWorld(start)
    plan = Plan(jobs=130, shortest_seconds=0.05, longest_seconds=0.8, jobs_per_fault=6, seed=SEED)
    diary = Diary(tmp_path / "said", str(tmp_path / "said"))
    result = Run(world, diary, plan, schedule(SEED, FAULTS, world.kinds)).run()
    report = "\n".join([*table(result), last_line(result, SEED)])
    print(report)  # noqa: T201
    assert result.sound, report
    assert (result.account.jobs, len(result.account.costs)) == (plan.jobs, FAULTS)
