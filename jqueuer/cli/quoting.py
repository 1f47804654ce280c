"""``quote``: what can be promised about an experiment before it is submitted; and submitting only what can be."""

from __future__ import annotations

import time
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from jqueuer.cli.describing import read_file
from jqueuer.cli.exits import Exit
from jqueuer.cli.options import DEFAULT_URL, AsJson, DescriptionFile, Url, examples
from jqueuer.cli.output import duration, percent, say, tell, tell_json, tell_table
from jqueuer.cli.plotting import refuse_unless_drawable
from jqueuer.cli.sending import send_file
from jqueuer.client import Client, ClientError
from jqueuer.client.submission import LINES_SUFFIXES, quote_file
from jqueuer.descriptor import Description
from jqueuer.quoting import quote as quote_here
from jqueuer.quoting import read_lines, workload_of


def add_commands(app: typer.Typer) -> None:
    """Add the commands of this module."""
    app.command(
        epilog=examples("jqueuer quote sweep.yaml", "jqueuer quote sweep.yaml --local --json --plot quote.png")
    )(quote)


def quote(
    context: typer.Context,
    file: DescriptionFile,
    local: Annotated[bool, typer.Option("--local", help="Ask no manager: work it out here, by the estimate.")] = False,
    plot: Annotated[
        Path | None, typer.Option("--plot", metavar="FILE", help="Draw the curve into a .png, .svg or .pdf.")
    ] = None,
    url: Url = DEFAULT_URL,
    as_json: AsJson = False,
) -> None:
    """Say whether a deadline can be kept, at what cost, and else which one could; exit with 5 if it cannot.

    The manager knows how long jobs of earlier experiments of the same image and name took. Where none was named and
    none answers, the quote is worked out here.
    """
    if plot is not None:
        refuse_unless_drawable(plot)
    description = read_file(file)
    origin = context.get_parameter_source("url")
    named = origin is not None and origin.name != "DEFAULT"
    found = _here(file, description) if local else ask(file, description, url, required=named)
    if as_json:
        tell_json(found)
    else:
        _tell(found)
    if plot is not None:
        from jqueuer.cli.quote_picture import draw_quote

        draw_quote(plot, found, title=description.experiment.name)
        say(f"{plot}: the curve")
    raise typer.Exit(Exit.OK if found["feasible"] else Exit.INFEASIBLE)


def send_if_feasible(client: Client, file: Path, as_json: bool) -> dict[str, Any]:
    """Submit what can be promised; of anything else nothing is sent, not even its inputs."""
    try:
        found = quote_file(file, client)
        if found["feasible"]:
            return send_file(client, file, if_feasible=True)
    except ClientError as error:
        if error.kind != "infeasible":
            raise
        found = dict(error.problem["quote"])
    if as_json:
        tell_json(found)
    say(f"not submitted: not feasible: {found['reason']}")
    raise typer.Exit(Exit.INFEASIBLE)


def ask(file: Path, description: Description, url: str, *, required: bool) -> dict[str, Any]:
    """The manager's quote; where none answers, and none is required to, one that is worked out here."""
    try:
        with Client(url) as client:
            return quote_file(file, client)
    except ClientError as error:
        if error.status is not None or required:
            raise
    say(
        f"notice: no manager answers at {url}: this is worked out here, without what it may know of earlier experiments"
    )
    return _here(file, description)


def _here(file: Path, description: Description) -> dict[str, Any]:
    if file.suffix in LINES_SUFFIXES:
        with file.open("rb") as lines:
            _, workload = read_lines(lines)
    else:
        workload = workload_of(description)
    found = asdict(quote_here(description.experiment, workload, now=time.time()))
    return {**found, "curve": list(found["curve"])}


def _tell(found: dict[str, Any]) -> None:
    tell(f"{'feasible' if found['feasible'] else 'not feasible'}: {found['reason']}")
    if found["feasible"] and found["earliest_deadline_seconds"] is not None:
        confidence = f"{100 * found['confidence']:.4g} %"
        tell(
            f"the earliest deadline that can be kept with {confidence}: {duration(found['earliest_deadline_seconds'])}"
        )
    tell(f"worked out {found['basis']}")
    columns = ["containers", "P50", "P80", "P95", "container-hours"]
    columns += [
        name for name, key in (("cost", "cost"), ("in time", "probability")) if found["curve"][0][key] is not None
    ]
    tell_table((*columns, ""), [_row(found, offer) for offer in found["curve"]])


def _row(found: dict[str, Any], offer: dict[str, Any]) -> tuple[str, ...]:
    cells = [str(offer["containers"]), *(duration(offer[f"{name}_seconds"]) for name in ("p50", "p80", "p95"))]
    cells.append(f"{offer['container_hours']:.3g}")
    if offer["cost"] is not None:
        cells.append(f"{offer['cost']:.2f}")
    if offer["probability"] is not None:
        cells.append(percent(offer["probability"]))
    marks = ["the fewest that do"] if offer["containers"] == found["containers"] else []
    marks += [f"{found['policy']} begins with it"] if offer["containers"] == found["policy_containers"] else []
    return (*cells, ", ".join(marks))
