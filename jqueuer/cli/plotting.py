"""Pictures. Imported only where one is asked for, since they need matplotlib, which is an extra of this package."""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from jqueuer.errors import JQueuerError
from jqueuer.simulation.curves import Curves

KINDS: Final = (".png", ".svg", ".pdf")
"""What a picture's file may end with."""

_LONG_SECONDS: Final = 1200.0
"""From here on the time is given in minutes."""
_COLUMNS: Final = 3
_ASKED: Final[dict[str, Any]] = {"where": "post", "color": "tab:red", "linewidth": 3.5, "alpha": 0.5}
"""Seen behind the running containers where both are the same."""


class PictureError(JQueuerError):
    """A picture cannot be drawn."""


def refuse_unless_drawable(file: Path) -> None:
    """Say at once what would only come out after all the computing; :class:`PictureError`."""
    if file.suffix not in KINDS:
        raise PictureError(f"{file}: expected a picture's name to end with {', '.join(KINDS)}")
    if not file.parent.is_dir():
        raise PictureError(f"{file}: there is no directory {file.parent}")
    if importlib.util.find_spec("matplotlib") is None:
        raise PictureError("pictures need matplotlib, which is not installed: pip install 'jqueuer[plots]'")


def draw_runs(file: Path, runs: Sequence[Curves], *, title: str) -> None:
    """Runs beside each other: containers requested and running on the left axis, jobs done on the right one."""
    from matplotlib.figure import Figure

    unit, scale = ("min", 60.0) if max(run.end_seconds for run in runs) > _LONG_SECONDS else ("s", 1.0)
    columns = min(_COLUMNS, len(runs))
    lines = -(-len(runs) // columns)
    figure = Figure(figsize=(1.2 + 5.0 * columns, 0.6 + 3.6 * lines), layout="constrained")
    figure.suptitle(title)
    panels = figure.subplots(lines, columns, squeeze=False).ravel()
    most_containers = max(value for run in runs for _, value in (*run.requested, *run.running))
    latest = max(max(run.end_seconds, run.deadline_seconds or 0.0) for run in runs)
    for panel, run in zip(panels, runs, strict=False):
        jobs = panel.twinx()
        requested, running, done = (
            [(at / scale, value) for at, value in curve] for curve in (run.requested, run.running, run.done)
        )
        asked = panel.step(*zip(*requested, strict=True), **_ASKED, label=f"containers {run.asked_for}")
        up = panel.step(*zip(*running, strict=True), where="post", color="tab:blue", label="containers running")
        ended = jobs.plot(*zip(*done, strict=True), color="tab:green", label="jobs done")
        handles = [*asked, *up, *ended]
        if run.deadline_seconds is not None:
            at = run.deadline_seconds / scale
            handles.append(panel.axvline(at, color="black", linestyle="--", linewidth=1, label="deadline"))
        panel.set_title(f"{run.name}: ends at {run.end_seconds / scale:.1f} {unit}")
        panel.set_xlim(0, latest / scale * 1.03)
        panel.set_ylim(0, most_containers * 1.15)
        panel.set_xlabel(f"time since the receipt, {unit}")
        panel.set_ylabel("containers")
        jobs.set_ylim(0, max(value for _, value in done) * 1.15 or 1.0)
        jobs.set_ylabel("jobs done")
        panel.legend(handles=handles, loc="lower center", fontsize="small", ncols=2)
    for panel in panels[len(runs) :]:
        panel.set_visible(False)
    figure.savefig(file, dpi=120)
