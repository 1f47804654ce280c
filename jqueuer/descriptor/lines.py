"""JSON Lines: the experiment on the first line, then one job on each."""

from __future__ import annotations

from jqueuer.descriptor.document import read_json_line
from jqueuer.descriptor.faults import FaultList
from jqueuer.descriptor.native import JOBS_KEYS, read_experiment, read_job
from jqueuer.model import Experiment, Job

_DEFAULT_ID_DIGITS = 6


def read_jobs_header(line: bytes) -> Experiment:
    """The experiment of the first line; :class:`~jqueuer.errors.DescriptionError` with all its faults."""
    raw = read_json_line(line, 1)
    faults = FaultList()
    for key in JOBS_KEYS:
        if key in raw:
            faults.add((key,), "cannot stand in the first line: the jobs follow, one per line")
    experiment = read_experiment({key: value for key, value in raw.items() if key not in JOBS_KEYS}, faults)
    faults.raise_if_any(lambda paths: dict.fromkeys(paths, 1))
    assert experiment is not None  # noqa: S101 - it is there where there are no faults
    return experiment


def read_job_line(line: bytes, number: int, experiment: Experiment) -> Job:
    """The job of line ``number`` (the experiment's is line 1); :class:`~jqueuer.errors.DescriptionError` otherwise.

    A job without an id gets its place in the file: ``000001`` for the one after the experiment.
    """
    raw = read_json_line(line, number)
    faults = FaultList()
    job = read_job(raw, f"{number - 1:0{_DEFAULT_ID_DIGITS}d}", experiment, faults)
    faults.raise_if_any(lambda paths: dict.fromkeys(paths, number))
    assert job is not None  # noqa: S101 - it is there where there are no faults
    return job
