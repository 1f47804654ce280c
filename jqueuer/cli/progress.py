"""Progress of an experiment: bars on a terminal, a line per change elsewhere."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any, Final

from rich.console import Console, Group
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from jqueuer.cli.output import duration, err, percent

LINE_SECONDS: Final = 2.0
"""The least time between two lines, unless the state changed."""
BAR_WIDTH: Final = 40

Show = Callable[[dict[str, Any]], None]
"""Takes an experiment as the API describes it."""


def progress(console: Console = err) -> AbstractContextManager[Show]:
    """Whatever fits the console: bars that are drawn over, or lines."""
    return _bars(console) if console.is_terminal else _lines(console)


@contextmanager
def _bars(console: Console) -> Iterator[Show]:
    with Live(console=console, auto_refresh=False, transient=True) as live:
        yield lambda experiment: live.update(_picture(experiment, time.time()), refresh=True)


@contextmanager
def _lines(console: Console) -> Iterator[Show]:
    yield Lines(lambda line: console.print(line, markup=False, soft_wrap=True), time.monotonic)


class Lines:
    """One line per change, at most one every :data:`LINE_SECONDS` while the state stays."""

    def __init__(self, write: Callable[[str], None], clock: Callable[[], float]) -> None:
        self._write = write
        self._clock = clock
        self._last: tuple[Any, ...] = ()
        self._written_at = 0.0

    def __call__(self, experiment: dict[str, Any]) -> None:
        """Look at the experiment; write a line if there is something to say."""
        now = self._clock()
        seen = (experiment["state"], experiment["problem"], experiment["jobs"], experiment["containers"])
        urgent = not self._last or seen[:2] != self._last[:2]
        if seen == self._last or (not urgent and now - self._written_at < LINE_SECONDS):
            return
        self._last, self._written_at = seen, now
        self._write(line_of(experiment, time.time()))


def line_of(experiment: dict[str, Any], now: float) -> str:
    """Everything about the progress in one line."""
    parts = [
        experiment["state"],
        _jobs(experiment),
        f"containers {_containers(experiment)}",
        _deadline(experiment, now),
    ]
    return " · ".join(part for part in (*parts, *_remarks(experiment)) if part)


def _picture(experiment: dict[str, Any], now: float) -> Group:
    jobs = experiment["jobs"]
    ended = jobs["accomplished"] + jobs["failed"] + jobs["cancelled"]
    grid = Table.grid(padding=(0, 2))
    bar = ProgressBar(
        total=jobs["total"] or 1, completed=ended, width=BAR_WIDTH, complete_style="green", finished_style="green"
    )
    grid.add_row(Text(experiment["name"], style="bold"), bar)
    grid.add_row(Text(experiment["state"]), Text(_jobs(experiment)))
    grid.add_row(Text("containers", style="dim"), Text(_containers(experiment)))
    if deadline := _deadline(experiment, now):
        late = (experiment["seconds_left"] or 0) < 0
        grid.add_row(Text("time", style="dim"), Text(deadline, style="red" if late else ""))
    return Group(grid, *(Text(remark, style="yellow") for remark in _remarks(experiment)))


def _remarks(experiment: dict[str, Any]) -> list[str]:
    """What keeps its containers waiting."""
    found = [experiment["problem"], *(experiment["containers"].get(name, "") for name in ("waiting", "note"))]
    return [remark for remark in found if remark]


def _jobs(experiment: dict[str, Any]) -> str:
    jobs = experiment["jobs"]
    others = [f"{jobs[name]} {name}" for name in ("running", "failed", "cancelled") if jobs[name]]
    text = f"{jobs['accomplished']}/{jobs['total']} jobs"
    return f"{text} ({', '.join(others)})" if others else text


def _containers(experiment: dict[str, Any]) -> str:
    found = experiment["containers"]
    observed = [f"{found['busy']} busy", f"{found['running'] - found['busy']} idle"]
    observed += [f"{found[name]} {name}" for name in ("starting", "draining") if found[name]]
    return f"{found['requested']} requested of {found['maximum']}: {', '.join(observed)}"


def _deadline(experiment: dict[str, Any], now: float) -> str:
    parts, left = [], experiment["seconds_left"]
    if left is not None:
        parts.append(f"{duration(left)} left" if left >= 0 else f"{duration(-left)} after the deadline")
    if (forecast := experiment["forecast"]) is not None:
        p50, p95 = (duration(max(0.0, forecast[name] - now)) for name in ("finish_at", "p95_at"))
        parts.append(f"forecast: ends in {p50} (P95 {p95})")
        if forecast["probability"] is not None:
            parts.append(f"{percent(forecast['probability'])} in time")
    return ", ".join(parts)
