"""``list``, ``status`` and ``explain``: look at what is there."""

from __future__ import annotations

import time
from datetime import datetime
from itertools import islice
from typing import Annotated, Any

import typer

from jqueuer.cli.options import DEFAULT_URL, AsJson, ExperimentId, Url, examples
from jqueuer.cli.output import duration, tell, tell_json, tell_table
from jqueuer.cli.progress import line_of
from jqueuer.client import Client
from jqueuer.states import ExperimentState, JobState


def add_commands(app: typer.Typer) -> None:
    """Add the commands of this module."""
    app.command("list", epilog=examples("jqueuer list", "jqueuer list --state running --state paused"))(list_all)
    app.command(epilog=examples("jqueuer status epidemic-7k2m", "jqueuer status epidemic-7k2m --jobs failed"))(status)
    app.command(epilog=examples("jqueuer explain epidemic-7k2m --last 20", "jqueuer explain epidemic-7k2m --inputs"))(
        explain
    )


def list_all(
    states: Annotated[
        list[ExperimentState] | None, typer.Option("--state", help="Only these; may be repeated.")
    ] = None,
    mine: Annotated[bool, typer.Option("--mine", help="Only those that were submitted with a token of yours.")] = False,
    limit: Annotated[int, typer.Option("--limit", min=1, help="At most so many, newest first.")] = 50,
    url: Url = DEFAULT_URL,
    as_json: AsJson = False,
) -> None:
    """List experiments, newest first."""
    with Client(url) as client:
        owner = client.me()["name"] if mine else ""
        wanted = client.experiments(states=[state.value for state in states or ()], owner=owner)
        found = list(islice(wanted, limit))
    if as_json:
        tell_json({"experiments": found})
        return
    rows = [
        (
            *(item["id"], item["name"], item["owner"] or "–", item["state"], _share(item["jobs"])),
            *(_moment(item["created_at"]), item["source"]),
        )
        for item in found
    ]
    tell_table(("id", "name", "owner", "state", "jobs", "received", "from"), rows)


def status(
    experiment_id: ExperimentId,
    jobs: Annotated[
        JobState | None, typer.Option("--jobs", help="List the jobs in this state instead (JSON: one a line).")
    ] = None,
    url: Url = DEFAULT_URL,
    as_json: AsJson = False,
) -> None:
    """Show how an experiment stands."""
    with Client(url) as client:
        if jobs is not None:
            _tell_jobs(client, experiment_id, jobs, as_json)
            return
        experiment = client.experiment(experiment_id)
    if as_json:
        tell_json(experiment)
        return
    tell(f"{experiment['id']}  {experiment['name']}  received {_moment(experiment['created_at'])}")
    tell(line_of(experiment, time.time()))
    for label in ("reason", "owner", "source"):
        if experiment[label]:
            tell(f"{label}: {experiment[label]}")
    for notice in experiment["notices"]:
        tell(f"notice: {notice}")


def explain(
    experiment_id: ExperimentId,
    last: Annotated[int, typer.Option("--last", min=1, max=10_000, help="The latest so many decisions.")] = 200,
    inputs: Annotated[bool, typer.Option("--inputs", help="Also what each was based on.")] = False,
    url: Url = DEFAULT_URL,
    as_json: AsJson = False,
) -> None:
    """Say what was decided about an experiment, and why."""
    with Client(url) as client:
        entries = client.journal(experiment_id, limit=last)
        if as_json:
            tell_json({"experiment_id": experiment_id, "entries": entries})
            return
        created_at = client.experiment(experiment_id)["created_at"]
    rows = []
    for entry in entries:
        after = f"+{duration(entry['at'] - created_at)}"
        rows.append((after, entry["action"], _number(entry["containers"]), entry["reason"]))
        if inputs and entry["inputs"]:
            rows.append(("", "", "", ", ".join(f"{name} {value}" for name, value in entry["inputs"].items())))
    tell_table(("after", "decision", "containers", "why"), rows)


def _tell_jobs(client: Client, experiment_id: str, state: JobState, as_json: bool) -> None:
    found = client.jobs(experiment_id, state=state.value)
    if as_json:
        for job in found:
            tell_json(job, line=True)
        return
    rows = [
        (job["id"], str(job["attempts"]), _number(job["exit_code"]), job["node"] or "–", job["reason"]) for job in found
    ]
    tell_table(("job", "attempts", "exit code", "node", "reason"), rows)


def _share(jobs: dict[str, Any]) -> str:
    failed = f", {jobs['failed']} failed" if jobs["failed"] else ""
    return f"{jobs['accomplished']}/{jobs['total']}{failed}"


def _moment(seconds: float) -> str:
    return datetime.fromtimestamp(seconds).astimezone().strftime("%Y-%m-%d %H:%M:%S")


def _number(value: int | None) -> str:
    return "–" if value is None else str(value)
