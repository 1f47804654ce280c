"""``submit``: hand an experiment over, and see it through where that is wanted."""

from __future__ import annotations

from typing import Annotated

import typer

from jqueuer.cli.describing import read_file
from jqueuer.cli.options import DEFAULT_URL, AsJson, DescriptionFile, StrictDeadline, Url, examples
from jqueuer.cli.output import counted, say, tell, tell_json
from jqueuer.cli.quoting import send_if_feasible
from jqueuer.cli.sending import send_file
from jqueuer.cli.watching import watch_and_conclude
from jqueuer.client import Client


def add_commands(app: typer.Typer) -> None:
    """Add the commands of this module."""
    app.command(epilog=examples("jqueuer submit sweep.yaml", "jqueuer submit sweep.yaml --if-feasible --wait"))(submit)


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
            watch_and_conclude(client, answer["id"], as_json, strict_deadline)
        elif as_json:
            tell_json(answer)
        else:
            tell(answer["id"])
