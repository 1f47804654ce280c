"""``pause``, ``resume``, ``cancel``, ``deadline`` and ``retry``: change an experiment that is there."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from jqueuer.cli.options import DEFAULT_URL, AsJson, ExperimentId, Url, examples
from jqueuer.cli.output import counted, tell, tell_json
from jqueuer.client import Client


def add_commands(app: typer.Typer) -> None:
    """Add the commands of this module."""
    for command, example in (
        (pause, "jqueuer pause epidemic-7k2m"),
        (resume, "jqueuer resume epidemic-7k2m"),
        (cancel, "jqueuer cancel epidemic-7k2m"),
        (retry, "jqueuer retry epidemic-7k2m"),
    ):
        app.command(epilog=examples(example))(command)
    app.command(
        epilog=examples("jqueuer deadline epidemic-7k2m 2h", "jqueuer deadline epidemic-7k2m 2030-01-31T18:00:00+01:00")
    )(deadline)


def pause(experiment_id: ExperimentId, url: Url = DEFAULT_URL, as_json: AsJson = False) -> None:
    """Start no more jobs; running ones finish, containers are released."""
    with Client(url) as client:
        _tell_state(client.pause(experiment_id), as_json)


def resume(experiment_id: ExperimentId, url: Url = DEFAULT_URL, as_json: AsJson = False) -> None:
    """Go on with a paused experiment."""
    with Client(url) as client:
        _tell_state(client.resume(experiment_id), as_json)


def cancel(experiment_id: ExperimentId, url: Url = DEFAULT_URL, as_json: AsJson = False) -> None:
    """End an experiment now; running jobs are stopped."""
    with Client(url) as client:
        _tell_state(client.cancel(experiment_id), as_json)


def retry(experiment_id: ExperimentId, url: Url = DEFAULT_URL, as_json: AsJson = False) -> None:
    """Queue failed and cancelled jobs once more, with fresh attempts."""
    with Client(url) as client:
        answer = client.retry(experiment_id)
    if as_json:
        tell_json(answer)
    else:
        tell(f"{answer['id']}: {counted(answer['jobs'], 'job')} queued again, {answer['state']}")


def deadline(
    experiment_id: ExperimentId,
    value: Annotated[str, typer.Argument(help="A duration since the start (90m), or a moment with its time zone.")],
    url: Url = DEFAULT_URL,
    as_json: AsJson = False,
) -> None:
    """Set another deadline; the containers follow."""
    with Client(url) as client:
        answer = client.change_deadline(experiment_id, value)
    if as_json:
        tell_json(answer)
    else:
        tell(f"{answer['id']}: deadline {value}")


def _tell_state(answer: dict[str, Any], as_json: bool) -> None:
    if as_json:
        tell_json(answer)
    else:
        tell(f"{answer['id']}: {answer['state']}")
