"""``run`` and ``serve``: the whole system on this machine, nothing else needed."""

from __future__ import annotations

import contextlib
import signal
from itertools import islice
from pathlib import Path
from typing import Annotated, Final

import typer

from jqueuer.cli.describing import read_file
from jqueuer.cli.exits import exit_code
from jqueuer.cli.fetching import fetch_results
from jqueuer.cli.options import DEFAULT_STATE, AsJson, DescriptionFile, StateDirectory, StrictDeadline, examples
from jqueuer.cli.output import counted, say, tell, tell_json
from jqueuer.cli.report import tell_failures, tell_summary
from jqueuer.cli.resuming import Undelivered, set_others_aside, unfinished
from jqueuer.cli.sending import send_file
from jqueuer.cli.system import running_system
from jqueuer.cli.watching import see_through
from jqueuer.client import Client
from jqueuer.client.submission import source_of

_FAILURES_SHOWN: Final = 5


def add_commands(app: typer.Typer) -> None:
    """Add the commands of this module."""
    app.command(epilog=examples("jqueuer run experiments/epidemic.yaml", "jqueuer run sweep.yaml --json"))(run)
    app.command(epilog=examples("jqueuer serve", "jqueuer serve --port 9000 --state /var/lib/jqueuer"))(serve)


def run(
    file: DescriptionFile,
    state: StateDirectory = DEFAULT_STATE,
    results: Annotated[
        Path, typer.Option("--results", metavar="DIR", file_okay=False, help="Outputs are put into DIR/<experiment>.")
    ] = Path("results"),
    strict_deadline: StrictDeadline = False,
    as_json: AsJson = False,
) -> None:
    """Run an experiment on this machine, or go on where it stopped.

    Everything needed is started, and stopped at the end. Jobs run in local containers; outputs are downloaded. Where
    the experiment of this very file was interrupted, it is gone on with, and accomplished jobs are not run again; one
    that has ended starts anew. Interrupted by Ctrl-C, running jobs finish first; by a second Ctrl-C they are ended.
    """
    read_file(file)
    results.mkdir(parents=True, exist_ok=True)  # now rather than after all the computing
    with (
        running_system(state, farewell="the same command goes on with the experiment") as system,
        Client(system.url, token=system.token) as client,
    ):
        undelivered = Undelivered(state)
        experiment_id = _begin(client, file, undelivered)
        ended = see_through(client, experiment_id, check=system.check).experiment
        summary = client.summary(experiment_id)
        summary["results"] = fetch_results(client, experiment_id, results / experiment_id)
        failed = list(islice(client.jobs(experiment_id, state="failed"), _FAILURES_SHOWN))
        undelivered.remove(experiment_id)
    if as_json:
        tell_json(summary, line=True)
    else:
        tell_summary(summary, name=ended["name"], reason=ended["reason"])
    if failed:
        tell_failures(failed, summary["jobs"]["failed"])
    raise typer.Exit(exit_code(summary, strict_deadline=strict_deadline))


def serve(
    state: StateDirectory = DEFAULT_STATE,
    host: Annotated[str, typer.Option("--host", envvar="JQUEUER_HOST", help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[
        int, typer.Option("--port", envvar="JQUEUER_PORT", min=0, max=65_535, help="Port to listen on; 0: any.")
    ] = 8081,
    as_json: AsJson = False,
) -> None:
    """Keep the whole system up on this machine, with its API."""
    with contextlib.suppress(KeyboardInterrupt), running_system(state, host=host, port=port) as system:
        if as_json:
            tell_json({"url": system.url, "pids": system.pids, "token_file": str(system.token_file)}, line=True)
        else:
            tell(f"serving at {system.url}, remembering in {system.state_dir}; Ctrl-C ends it")
            say(f"the token of its administrator is in {system.token_file}")
            with Client(system.url, token=system.token) as client:
                for experiment in client.experiments(states=("running", "finishing")):
                    say(f"notice: {experiment['id']} was not finished last time; it goes on")
        signal.pause()  # until one of them interrupts


def _begin(client: Client, file: Path, undelivered: Undelivered) -> str:
    """The experiment of this file that was not finished, or not delivered, last time; or a new one."""
    source, digest = source_of(file)
    found = unfinished(client, source, digest, undelivered)
    set_others_aside(client, keep=found["id"] if found else None, source=source)
    if found is None:
        answer = send_file(client, file)
        undelivered.add(answer["id"])
        say(f"{answer['id']}: {counted(answer['jobs'], 'job')}")
        return str(answer["id"])
    jobs = found["jobs"]
    if found["finished_at"] is not None:
        say(f"{found['id']}: it ended while the last run was leaving; here are its results")
        return str(found["id"])
    say(f"{found['id']}: going on where it stopped, {jobs['accomplished']} of {jobs['total']} jobs are accomplished")
    if found["state"] == "paused":
        client.resume(found["id"])
    return str(found["id"])
