"""``results`` and ``logs``: what the jobs left behind."""

from __future__ import annotations

import codecs
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from jqueuer.cli.fetching import fetch_results
from jqueuer.cli.options import DEFAULT_URL, AsJson, ExperimentId, Url, examples
from jqueuer.cli.output import counted, say, size, tell, tell_json, tell_table, visible
from jqueuer.client import Client
from jqueuer.errors import NotFoundError
from jqueuer.model import POST_JOB_ID
from jqueuer.states import AttemptOutcome, JobState

_POLL_SECONDS: Final = 0.3


def add_commands(app: typer.Typer) -> None:
    """Add the commands of this module."""
    app.command(epilog=examples("jqueuer results epidemic-7k2m", "jqueuer results epidemic-7k2m --download epidemic"))(
        results
    )
    app.command(
        epilog=examples(
            "jqueuer logs epidemic-7k2m b0.4-v0.2-s1",
            "jqueuer logs epidemic-7k2m b0.4-v0.2-s1 --attempt 1 --stderr",
            f"jqueuer logs epidemic-7k2m {POST_JOB_ID} --follow",
        )
    )(logs)


def results(
    experiment_id: ExperimentId,
    download: Annotated[
        Path | None, typer.Option("--download", metavar="DIR", file_okay=False, help="Fetch them, verified, into here.")
    ] = None,
    url: Url = DEFAULT_URL,
    as_json: AsJson = False,
) -> None:
    """List the outputs of an experiment, or download them."""
    with Client(url) as client:
        if download is None:
            _tell_outputs(list(client.outputs(experiment_id)), as_json)
            return
        fetched = fetch_results(client, experiment_id, download)
    fetched = fetched or {"directory": str(download), "files": 0, "post": []}
    if as_json:
        tell_json(fetched)
        return
    tell(f"{counted(fetched['files'], 'file')} in {fetched['directory']}")
    for path in fetched["post"]:
        tell(path)


def logs(
    experiment_id: ExperimentId,
    job_id: Annotated[str, typer.Argument(metavar="JOB", help=f"The job; {POST_JOB_ID} is the post command.")],
    attempt: Annotated[int | None, typer.Option("--attempt", min=1, help="Which attempt; else the last.")] = None,
    stderr: Annotated[bool, typer.Option("--stderr", help="What it wrote to stderr, not stdout.")] = False,
    follow: Annotated[bool, typer.Option("--follow", help="Go on until the attempt has ended.")] = False,
    url: Url = DEFAULT_URL,
    as_json: AsJson = False,
) -> None:
    """Print what a job wrote: every byte into files and pipes, no escape sequences on a terminal."""
    stream = "stderr" if stderr else "stdout"
    with Client(url) as client:
        number = attempt or _deciding_attempt(client, experiment_id, job_id, wait=follow)
        chunks = _follow(client, experiment_id, job_id, number, stream, follow)
        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        for chunk in chunks:
            if as_json:
                tell_json({"attempt": number, "stream": stream, "text": decoder.decode(chunk)}, line=True)
            elif sys.stdout.isatty():
                sys.stdout.write(visible(decoder.decode(chunk)))
                sys.stdout.flush()
            else:
                sys.stdout.buffer.write(chunk)
                sys.stdout.buffer.flush()
        if as_json and (rest := decoder.decode(b"", final=True)):
            tell_json({"attempt": number, "stream": stream, "text": rest}, line=True)
        found = _attempt(client.job(experiment_id, job_id), number)
    if found[stream]["truncated"]:
        say(f"notice: of {size(found[stream]['total_bytes'])} written, only the beginning and the end were kept")


def _follow(client: Client, experiment_id: str, job_id: str, number: int, stream: str, follow: bool) -> Iterator[bytes]:
    """The stream from its start; with ``follow`` to the end of the attempt."""
    position = 0
    while True:
        ended = _attempt(client.job(experiment_id, job_id), number)["outcome"] is not None
        for chunk in client.log(experiment_id, job_id, number, stream, position):
            position += len(chunk)
            yield chunk
        if ended or not follow:
            return
        time.sleep(_POLL_SECONDS)


def _deciding_attempt(client: Client, experiment_id: str, job_id: str, *, wait: bool) -> int:
    while True:
        job = client.job(experiment_id, job_id)
        if job["attempts"]:
            accomplished = (one for one in job["attempts"] if one["outcome"] == AttemptOutcome.ACCOMPLISHED)
            return int(next(accomplished, job["attempts"][-1])["number"])
        if not wait or JobState(job["state"]).terminal:
            raise NotFoundError(f"job {job_id} was not attempted: it is {job['state']}")
        time.sleep(_POLL_SECONDS)


def _attempt(job: dict[str, Any], number: int) -> dict[str, Any]:
    for attempt in job["attempts"]:
        if attempt["number"] == number:
            return dict(attempt)
    raise NotFoundError(f"job {job['id']} has no attempt {number}: it has had {len(job['attempts'])}")


def _tell_outputs(outputs: list[dict[str, Any]], as_json: bool) -> None:
    if as_json:
        tell_json({"outputs": outputs})
        return
    tell_table(("job", "output", "size"), [(item["job"], item["path"], size(item["size_bytes"])) for item in outputs])
