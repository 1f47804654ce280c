"""Whether every input of an experiment has been sent before it is accepted."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from jqueuer.errors import DescriptionError, Fault
from jqueuer.model import Experiment, InputFile, Job
from jqueuer.ports import Artifacts

_REMEMBERED: Final = 10_000


class InputCheck:
    """Looks each input up once; raises :class:`DescriptionError` naming all the missing ones it is shown."""

    def __init__(self, artifacts: Artifacts) -> None:
        self._artifacts = artifacts
        self._present: set[str] = set()

    def of_experiment(self, experiment: Experiment) -> None:
        """The inputs for all jobs, and those of the post command."""
        faults = self._faults("inputs", experiment.inputs, None)
        if experiment.post:
            faults += self._faults("post.inputs", experiment.post.inputs, None)
        _refuse(faults)

    def of_jobs(self, jobs: Iterable[tuple[int, Job, int | None]]) -> None:
        """The inputs of jobs, given with their position and line."""
        faults: list[Fault] = []
        for position, job, line in jobs:
            if job.inputs:
                faults += self._faults(f"jobs[{position}].inputs", job.inputs, line)
        _refuse(faults)

    def _faults(self, path: str, inputs: Iterable[InputFile], line: int | None) -> list[Fault]:
        return [
            Fault(f"{path}[{place}]", problem, line)
            for place, file in enumerate(inputs)
            if (problem := self._problem(file))
        ]

    def _problem(self, file: InputFile) -> str:
        if file.sha256 is None:
            return (
                f"the file {file.path!r} was not sent: PUT its content to /api/v1/files/<its SHA-256> and name that "
                "as sha256 (jqueuer submit does both)"
            )
        if file.sha256 not in self._present:
            if not self._artifacts.has_input(file.sha256):
                return f"the content of {file.path!r} was not sent: PUT it to /api/v1/files/{file.sha256} first"
            if len(self._present) >= _REMEMBERED:
                self._present.clear()
            self._present.add(file.sha256)
        return ""


def _refuse(faults: list[Fault]) -> None:
    if faults:
        raise DescriptionError(tuple(faults))
