"""What jobs say of themselves, into a file that nothing of ours reads or writes.

Each line is written by one small append, so lines of jobs on many nodes never mix.
"""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.chaos.accounting import Said


@dataclass(frozen=True)
class Line:
    """One thing that happened to a job."""

    event: str
    job: str
    attempt: int
    uptime_seconds: float
    """By the kernel's clock, which all nodes of a laboratory share."""


class Diary:
    """The file; jobs know it as `seen_as`."""

    def __init__(self, file: Path, seen_as: str) -> None:
        self._file = file
        self._seen_as = seen_as

    def jobs(self, count: int, shortest_seconds: float, longest_seconds: float, seed: int) -> list[dict[str, Any]]:
        """Jobs that sleep, the longer ones more often, and say when they begin and when they are done."""
        drawn = random.Random(seed)
        width_seconds = longest_seconds - shortest_seconds
        return [
            self._job(number, shortest_seconds + width_seconds * max(drawn.random(), drawn.random()))
            for number in range(1, count + 1)
        ]

    def _job(self, number: int, seconds: float) -> dict[str, Any]:
        said = '$JQUEUER_JOB_ID $JQUEUER_ATTEMPT $(cut -d" " -f1 /proc/uptime)'
        begin, end = (f'echo "{event} {said}" >>{self._seen_as}' for event in ("begin", "end"))
        return {"id": f"job-{number}", "command": {"shell": f"{begin}; sleep {seconds:.3f}; {end}"}}

    def lines(self) -> list[Line]:
        """Everything said so far."""
        if not self._file.exists():
            return []
        words = [line.split() for line in self._file.read_text().splitlines()]
        return [Line(event, job, int(attempt), float(uptime)) for event, job, attempt, uptime in words]

    def said(self) -> Said:
        """How often each attempt was begun, and came to its end."""
        begun, ended = Counter[tuple[str, int]](), Counter[tuple[str, int]]()
        for line in self.lines():
            (begun if line.event == "begin" else ended)[line.job, line.attempt] += 1
        return Said(begun, ended)

    def went_on_since(self, uptime_seconds: float) -> bool:
        """Whether a job was begun and done since then."""
        lines = [line for line in self.lines() if line.uptime_seconds > uptime_seconds]
        begun = {(line.job, line.attempt) for line in lines if line.event == "begin"}
        return any((line.job, line.attempt) in begun for line in lines if line.event == "end")


def uptime_seconds() -> float:
    """Now, by the clock of the jobs' lines."""
    return float(Path("/proc/uptime").read_text().split()[0])
