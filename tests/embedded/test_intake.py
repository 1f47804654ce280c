"""A hundred thousand jobs are no weight on the manager."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from benchmarks import intake
from jqueuer.client import Client


@pytest.mark.parametrize("submit", [intake.as_sweep, intake.as_lines])
def test_100000_jobs_grow_the_manager_by_less_than_150_megabytes(submit: Callable[[Client], str]) -> None:
    """Until all of them are in the job queue, every job stored and none held in memory."""
    assert intake.measure(submit)["grown_mb"] < 150
