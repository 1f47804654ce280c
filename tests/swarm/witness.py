"""A witness outside the store: every job writes its begin and end into a file that all nodes share."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

MOUNTED_AT = "/witness"


@dataclass(frozen=True)
class Line:
    """One thing that happened to a job, in the job's own words."""

    event: str
    job: str
    attempt: int
    container: str
    uptime_seconds: float
    """By the kernel's clock, which all nodes of the lab share."""


class Witness:
    """The file; one per experiment."""

    def __init__(self, directory: Path, name: str) -> None:
        directory.chmod(0o777)
        self._directory = directory
        self._name = name
        self._path = directory / name
        self._waked = directory / f"{name}.waked"

    def wake(self) -> None:
        """Let the jobs end within a second, those too that have not begun."""
        self._waked.touch()

    def describe(self, *, jobs: int, seconds: int, containers: int, **more: Any) -> dict[str, Any]:
        """An experiment of jobs that sleep, until they are waked at the latest, and testify."""
        say = "echo \"{event} $JQUEUER_JOB_ID $JQUEUER_ATTEMPT $JQUEUER_CONTAINER $(cut -d' ' -f1 /proc/uptime)\""
        file = f"{MOUNTED_AT}/{self._name}"
        waked = f"[ -e {MOUNTED_AT}/{self._waked.name} ]"
        sleep = f"n=0; until [ $n -eq {seconds} ] || {waked}; do sleep 1; n=$((n+1)); done"
        line = f"{say.format(event='begin')} >>{file}; {sleep}; {say.format(event='end')} >>{file}"
        return {
            "name": self._name,
            "image": "busybox",
            "containers": {"min": 0, "max": containers},
            "policy": {"name": "fixed", "containers": 1000},
            "estimate": seconds,
            "mounts": [f"{self._directory}:{MOUNTED_AT}"],
            "sweep": {
                "parameters": {"number": {"from": 1, "to": jobs, "step": 1}},
                "job": {"id": "job-{{number}}", "command": {"shell": line}},
            },
            **more,
        }

    def lines(self) -> list[Line]:
        """Everything said so far."""
        if not self._path.exists():
            return []
        said = []
        for text in self._path.read_text().splitlines():
            event, job, attempt, container, uptime = text.split()
            said.append(Line(event, job, int(attempt), container, float(uptime)))
        return said

    def begun(self) -> Counter[str]:
        """How often each job was begun."""
        return Counter(line.job for line in self.lines() if line.event == "begin")

    def ended(self) -> Counter[str]:
        """How often each job came to its end."""
        return Counter(line.job for line in self.lines() if line.event == "end")

    def unfinished(self) -> list[Line]:
        """Attempts that were begun and never came to their end."""
        lines = self.lines()
        ended = {(line.job, line.attempt) for line in lines if line.event == "end"}
        return [line for line in lines if line.event == "begin" and (line.job, line.attempt) not in ended]

    def busy_containers(self) -> dict[str, float]:
        """Containers that hold a job now, and for how many seconds."""
        now = float(Path("/proc/uptime").read_text().split()[0])
        begun: dict[str, Line] = {}
        for line in self.lines():
            if line.event == "begin":
                begun[line.container] = line
            elif line.container in begun and begun[line.container].job == line.job:
                del begun[line.container]
        return {container: now - line.uptime_seconds for container, line in begun.items()}
