"""How much an experiment has to do: its jobs and their tasks, counted without holding them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice
from typing import Final

from jqueuer.descriptor import Description, read_job_line, read_jobs_header
from jqueuer.errors import DescriptionError, Fault
from jqueuer.model import Experiment

SAMPLED_JOBS: Final = 10_000
"""The tasks of so many jobs are counted; the jobs of a sweep or an array are made only when they are looked at."""
MAX_FAULTS: Final = 100


@dataclass(frozen=True, slots=True)
class Workload:
    """The jobs, and the tasks of an average one, rounded up."""

    jobs: int
    tasks_per_job: int = 1


def workload_of(description: Description) -> Workload:
    """Of a description in one piece."""
    counted = tasks = 0
    for job in islice(description.jobs, SAMPLED_JOBS):
        counted, tasks = counted + 1, tasks + len(job.tasks)
    return _averaged(description.count, counted, tasks)


def read_lines(lines: Iterable[bytes], *, max_jobs: int | None = None) -> tuple[Experiment, Workload]:
    """Of an experiment's line and then a job on each; :class:`~jqueuer.errors.DescriptionError` with its faults."""
    numbered = ((number, line) for number, line in enumerate(lines, start=1) if line.strip())
    experiment = read_jobs_header(next(numbered, (0, b""))[1])
    faults: list[Fault] = []
    jobs = tasks = 0
    for number, line in numbered:
        try:
            job = read_job_line(line, number, experiment)
        except DescriptionError as error:
            faults += error.faults
            if len(faults) >= MAX_FAULTS:
                break
        else:
            jobs, tasks = jobs + 1, tasks + len(job.tasks)
            if max_jobs is not None and jobs > max_jobs:
                faults.append(Fault("jobs", f"an experiment has at most {max_jobs} jobs here"))
                break
    if not jobs and not faults:
        faults.append(Fault("jobs", "expected at least one job"))
    if faults:
        raise DescriptionError(tuple(faults))
    return experiment, _averaged(jobs, jobs, tasks)


def _averaged(jobs: int, counted: int, tasks: int) -> Workload:
    return Workload(jobs, max(1, -(-tasks // max(1, counted))))
