"""``submit``, ``wait`` and ``watch``: hand an experiment over and see it through."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from jqueuer.cli.describing import read_file
from jqueuer.cli.exits import exit_code
from jqueuer.cli.options import DEFAULT_URL, AsJson, DescriptionFile, ExperimentId, StrictDeadline, Url, examples
from jqueuer.cli.output import counted, say, tell, tell_json
from jqueuer.cli.progress import Show, progress
from jqueuer.cli.quoting import send_if_feasible
from jqueuer.cli.report import tell_summary
from jqueuer.cli.sending import send_file
from jqueuer.client import Client


def add_commands(app: typer.Typer) -> None:
    """Add the commands of this module."""
    app.command(epilog=examples("jqueuer submit sweep.yaml", "jqueuer submit sweep.yaml --if-feasible --wait"))(submit)
    app.command(epilog=examples("jqueuer wait sweep-7k2m && jqueuer results sweep-7k2m --download out"))(wait)
    app.command(epilog=examples("jqueuer watch sweep-7k2m", "jqueuer watch sweep-7k2m --json | jq .jobs"))(watch)


def submit(
    file: DescriptionFile,
    wait_for_end: Annotated[bool, typer.Option("--wait", help="Stay until it has ended, and summarise.")] = False,
    if_feasible: Annotated[
        bool, typer.Option("--if-feasible", help="Send nothing and exit with 5 if the deadline cannot be promised.")
    ] = False,
    strict_deadline: StrictDeadline = False,
    url: Url = DEFAULT_URL,
    as_json: AsJson = False,
) -> None:
    """Submit an experiment, with the files it names, to a manager."""
    read_file(file)
    with Client(url) as client:
        answer = send_if_feasible(client, file, as_json) if if_feasible else send_file(client, file)
        if wait_for_end:
            if not as_json:
                say(f"{answer['id']}: {counted(answer['jobs'], 'job')} submitted")
            _see_through(client, answer["id"], as_json, strict_deadline)
        elif as_json:
            tell_json(answer)
        else:
            tell(answer["id"])


def wait(
    experiment_id: ExperimentId,
    strict_deadline: StrictDeadline = False,
    url: Url = DEFAULT_URL,
    as_json: AsJson = False,
) -> None:
    """Wait until an experiment has ended, then summarise it."""
    with Client(url) as client:
        ended = client.wait(experiment_id)
        _conclude(client, ended, as_json, strict_deadline)


def watch(
    experiment_id: ExperimentId,
    strict_deadline: StrictDeadline = False,
    url: Url = DEFAULT_URL,
    as_json: AsJson = False,
) -> None:
    """Show progress until the experiment has ended, then summarise.

    With --json: a line per change, the experiment as the API describes it, and the summary as the last line.
    """
    with Client(url) as client:
        if as_json:
            ended = client.wait(experiment_id, watch=_json_lines())
            _conclude(client, ended, True, strict_deadline, line=True)
        else:
            _see_through(client, experiment_id, False, strict_deadline)


def _see_through(client: Client, experiment_id: str, as_json: bool, strict_deadline: bool) -> None:
    with progress() as show:
        ended = client.wait(experiment_id, watch=show)
    _conclude(client, ended, as_json, strict_deadline)


def _conclude(
    client: Client, ended: dict[str, Any], as_json: bool, strict_deadline: bool, *, line: bool = False
) -> None:
    summary = client.summary(ended["id"])
    if as_json:
        tell_json(summary, line=line)
    else:
        tell_summary(summary, name=ended["name"], reason=ended["reason"])
    raise typer.Exit(exit_code(summary, strict_deadline=strict_deadline))


def _json_lines() -> Show:
    last: dict[str, Any] = {}

    def show(experiment: dict[str, Any]) -> None:
        nonlocal last
        if last != (
            last := {key: experiment[key] for key in ("state", "jobs", "containers", "problem", "deadline_at")}
        ):
            tell_json(experiment, line=True)

    return show
