"""The native format: an experiment's fields, and its jobs as a list or as a sweep."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path as FilePath
from typing import Any

from jqueuer.descriptor.description import Description
from jqueuer.descriptor.document import Document
from jqueuer.descriptor.faults import FaultList, Path
from jqueuer.descriptor.policies import check_policy, policy_notices
from jqueuer.descriptor.sweep import SweepJobs, read_sweep
from jqueuer.descriptor.validation import validated
from jqueuer.model import Experiment, InputFile, Job, effective_job
from jqueuer.units import shown

JOBS_KEYS = ("jobs", "sweep")


def read_native(document: Document, *, base: FilePath | None, max_jobs: int) -> Description:
    """The description of a native document; :class:`~jqueuer.errors.DescriptionError` with all its faults."""
    raw = document.value
    faults = FaultList()
    experiment = read_experiment({key: value for key, value in raw.items() if key not in JOBS_KEYS}, faults)
    jobs = _read_jobs(raw, experiment, base, max_jobs, faults)
    faults.raise_if_any(document.lines)
    assert experiment is not None and jobs is not None  # noqa: S101, PT018 - without faults both are there
    return Description(experiment, jobs, len(jobs), experiment_notices(experiment))


def experiment_notices(experiment: Experiment) -> tuple[str, ...]:
    """What the author of these parameters should know."""
    return policy_notices(experiment.policy)


def read_experiment(raw: dict[str, Any], faults: FaultList) -> Experiment | None:
    """The global parameters; None with their faults noted."""
    experiment = validated(Experiment, raw, faults)
    check_policy(raw.get("policy"), faults)
    if experiment is not None:
        check_inputs(("inputs",), experiment.inputs, faults)
        if experiment.post is not None:
            check_inputs(("post", "inputs"), experiment.post.inputs, faults)
    return experiment


def check_inputs(path: Path, inputs: Iterable[InputFile], faults: FaultList) -> None:
    """Whether no two inputs of one job would overwrite each other."""
    paths: set[str] = set()
    for file in inputs:
        if file.path in paths:
            faults.add(path, f"two inputs have the path {shown(file.path)}")
        paths.add(file.path)


def check_hedge(experiment: Experiment, jobs: Iterable[Job], faults: FaultList) -> None:
    """Whether there is a job that may have the second copy which hedging is about."""
    if experiment.hedge and not any(effective_job(experiment, job).idempotent for job in jobs):
        faults.add(
            ("hedge",),
            "hedge starts second copies of slow jobs, but no job may run twice: "
            "add idempotent: true to the experiment or to the jobs for which that does no harm, or leave hedge out",
        )


def _read_jobs(
    raw: dict[str, Any], experiment: Experiment | None, base: FilePath | None, max_jobs: int, faults: FaultList
) -> list[Job] | SweepJobs | None:
    if ("jobs" in raw) == ("sweep" in raw):
        problem = "give jobs or a sweep, not both" if "jobs" in raw else "expected jobs, or a sweep that makes them"
        faults.add((), problem)
    if "jobs" in raw:
        listed = _read_list(raw["jobs"], experiment, max_jobs, faults)
        if listed and experiment is not None and len(listed) == len(raw["jobs"]):
            check_hedge(experiment, listed, faults)
        return listed
    if "sweep" in raw:
        jobs = read_sweep(raw["sweep"], base=base, max_jobs=max_jobs, faults=faults)
        if jobs is not None and experiment is not None:
            first = next(iter(jobs))
            check_inputs(("sweep", "job", "inputs"), (*experiment.inputs, *first.inputs), faults)
            check_hedge(experiment, (first,), faults)
        return jobs
    return None


def _read_list(raw: Any, experiment: Experiment | None, max_jobs: int, faults: FaultList) -> list[Job] | None:
    if not isinstance(raw, list):
        faults.add(("jobs",), f"expected a list of jobs, got {shown(raw)}")
        return None
    if not 1 <= len(raw) <= max_jobs:
        problem = "expected at least one job" if not raw else f"{len(raw)} jobs are more than the {max_jobs} allowed"
        faults.add(("jobs",), problem)
        return None
    width = len(str(len(raw)))
    jobs: list[Job] = []
    first_with: dict[str, int] = {}
    for index, item in enumerate(raw):
        job = read_job(item, f"{index + 1:0{width}d}", experiment, faults, ("jobs", index))
        if job is None:
            continue
        first = first_with.setdefault(job.id, index)
        if first != index:
            faults.add(("jobs", index, "id"), f"jobs[{first}] has the id {shown(job.id)} already")
        jobs.append(job)
    return jobs


def read_job(
    raw: Any, default_id: str, experiment: Experiment | None, faults: FaultList, path: Path = ()
) -> Job | None:
    """One job as written; None with its faults noted under ``path``."""
    job = validated(Job, {"id": default_id, **raw} if isinstance(raw, dict) else raw, faults, path)
    if job is not None and job.inputs:
        check_inputs((*path, "inputs"), (*(experiment.inputs if experiment is not None else ()), *job.inputs), faults)
    return job
