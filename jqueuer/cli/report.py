"""The summary of an ended experiment, for people."""

from __future__ import annotations

from typing import Any

from rich.table import Table
from rich.text import Text

from jqueuer.cli.output import counted, duration, out, say, tell

_STYLES = {"accomplished": "bold green", "failed": "bold red", "cancelled": "bold yellow"}


def tell_summary(summary: dict[str, Any], *, name: str = "", reason: str = "") -> None:
    """Print the summary, and where results were put if it says so."""
    state = summary["state"]
    title = Text.assemble((state, _STYLES.get(state, "bold")), f"  {name}  {summary['experiment_id']}".rstrip())
    rows = _rows(summary) + ([("reason", reason)] if reason else [])
    if out.is_terminal:
        grid = Table.grid(padding=(0, 2))
        for label, value in rows:
            grid.add_row(Text(label, style="dim"), Text(value, overflow="fold"))
        out.print(title)
        out.print(grid)
    else:
        tell(title.plain)
        for label, value in rows:
            tell(f"  {label:<13}{value}")
    if summary["deadline_met"] is False and summary["state"] == "accomplished":
        say("notice: the deadline was missed")


def tell_failures(failed: list[dict[str, Any]], total: int) -> None:
    """Say which jobs failed and why: the first ones, and where to see the rest."""
    for job in failed:
        say(f"failed: {job['id']}: {job['reason']}")
    if total > len(failed):
        say(f"failed: {total - len(failed)} more")
    say("what they wrote: start `jqueuer serve` here, then `jqueuer logs ID JOB --stderr`")


def _rows(summary: dict[str, Any]) -> list[tuple[str, str]]:
    jobs = summary["jobs"]
    outcomes = ", ".join(f"{jobs[state]} {state}" for state in ("accomplished", "failed", "cancelled"))
    ups, downs = summary["scale_ups"], summary["scale_downs"]
    rows = [
        ("jobs", f"{jobs['total']}: {outcomes}"),
        ("attempts", f"{summary['attempts']}, of which {summary['killed']} lost with their container"),
        ("deadline", _deadline(summary)),
        ("containers", f"at most {summary['peak_containers']} at once, {ups} × scaled up, {downs} × scaled down"),
        (
            "paid",
            f"{duration(summary['container_seconds'])} of containers for {duration(summary['job_seconds'])} of jobs",
        ),
    ]
    return rows + _results(summary.get("results"))


def _deadline(summary: dict[str, Any]) -> str:
    finished, deadline = summary["finished_seconds"], summary["deadline_seconds"]
    end = "not finished" if finished is None else f"finished after {duration(finished)}"
    if deadline is None:
        return f"none; {end}"
    if summary["state"] in ("failed", "cancelled"):
        return f"{summary['state']} after {duration(finished or 0.0)} (deadline {duration(deadline)})"
    verdict = {True: "met", False: "missed", None: "open"}[summary["deadline_met"]]
    if finished is not None:
        margin = deadline - finished
        end += f", {duration(abs(margin))} {'early' if margin >= 0 else 'late'}"
    return f"{verdict}: {end} (deadline {duration(deadline)})"


def _results(results: dict[str, Any] | None) -> list[tuple[str, str]]:
    if results is None:
        return []
    rows = [("results", f"{results['directory']} ({counted(results['files'], 'file')})")]
    return rows + [("", path) for path in results["post"]]
