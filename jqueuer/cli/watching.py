"""``wait`` and ``watch``: stay with an experiment until it has ended."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, Final

import typer
from rich.live import Live

from jqueuer.cli.display.experiment import experiment_picture, failure_lines
from jqueuer.cli.display.looks import Look
from jqueuer.cli.exits import Exit, exit_code
from jqueuer.cli.live import can_draw, drawable, fitting, with_ticks
from jqueuer.cli.onlooking import FAILURES, Onlooker
from jqueuer.cli.options import DEFAULT_URL, AsJson, ExperimentId, StrictDeadline, Url, examples
from jqueuer.cli.output import err, say, tell_json
from jqueuer.cli.progress import Lines
from jqueuer.cli.report import tell_summary
from jqueuer.client import Client
from jqueuer.client.following import News, follow

HINT: Final = "Ctrl-C leaves; the experiment goes on"
_CHANGES: Final = ("state", "jobs", "containers", "problem", "waits_for", "deadline_at", "finished_at")
"""Of these a change is worth a line of JSON; forecasts change all the time."""


def add_commands(app: typer.Typer) -> None:
    """Add the commands of this module."""
    app.command(epilog=examples("jqueuer wait sweep-7k2m && jqueuer results sweep-7k2m --download out"))(wait)
    app.command(epilog=examples("jqueuer watch sweep-7k2m", "jqueuer watch sweep-7k2m --json | jq .jobs"))(watch)


def wait(
    experiment_id: ExperimentId,
    strict_deadline: StrictDeadline = False,
    url: Url = DEFAULT_URL,
    as_json: AsJson = False,
) -> None:
    """Wait until an experiment has ended, then summarise it."""
    with Client(url) as client:
        with _leaving(experiment_id):
            last = _last(Look(news.experiment) for news in _heard(follow(client, experiment_id)))
        conclude(client, last, as_json, strict_deadline)


def watch(
    experiment_id: ExperimentId,
    strict_deadline: StrictDeadline = False,
    url: Url = DEFAULT_URL,
    as_json: AsJson = False,
) -> None:
    """Show how an experiment stands, live, until it has ended; then summarise it.

    Jobs, time and forecast, containers, the last decision, the last failures. Away from a terminal: a line per change.
    With --json: a line per change, the experiment as the API describes it, and the summary as the last line.
    """
    with Client(url) as client:
        if as_json:
            with _leaving(experiment_id):
                last = _last(_told_as_json(_heard(follow(client, experiment_id))))
            conclude(client, last, True, strict_deadline, line=True)
        else:
            watch_and_conclude(client, experiment_id, False, strict_deadline)


def watch_and_conclude(client: Client, experiment_id: str, as_json: bool, strict_deadline: bool) -> None:
    """Show how it goes on stderr until it has ended, then :func:`conclude`."""
    with _leaving(experiment_id):
        last = see_through(client, experiment_id, hint=HINT)
    conclude(client, last, as_json, strict_deadline)


def see_through(
    client: Client, experiment_id: str, *, check: Callable[[], None] = lambda: None, hint: str = ""
) -> Look:
    """Show how it goes on stderr, drawn or line by line, until it has ended; the last look.

    ``check`` is called every second or oftener, and may raise.
    """
    if not can_draw(err):
        lines = Lines(lambda line: err.print(line, markup=False, soft_wrap=True), time.monotonic, client.now)
        looks = (Look(news.experiment, trouble=news.trouble) for news in follow(client, experiment_id))
        return _last(_checked(with_ticks(looks), check, lambda look: lines(look.experiment, look.trouble)))
    with Live(console=err, auto_refresh=False, transient=True) as live:

        def draw(look: Look) -> None:
            picture = partial(experiment_picture, look, client.now(), err.width, hint=hint)
            ever_less = (
                picture(failures=most, spaced=spaced) for most in range(FAILURES, -1, -1) for spaced in (True, False)
            )
            live.update(drawable(err, fitting(err, ever_less)), refresh=True)

        return _last(_checked(with_ticks(Onlooker(client, experiment_id).looks()), check, draw))


def conclude(client: Client, last: Look, as_json: bool, strict_deadline: bool, *, line: bool = False) -> None:
    """Summarise an experiment that has ended, and exit with the code that says how."""
    experiment = last.experiment
    summary = client.summary(experiment["id"])
    if as_json:
        tell_json(summary, line=line)
    else:
        tell_summary(summary, name=experiment["name"], reason=experiment["reason"])
        for drawn in failure_lines(last.failures, client.now(), err.width):
            err.print(drawable(err, drawn))
    raise typer.Exit(exit_code(summary, strict_deadline=strict_deadline))


def _checked(looks: Iterator[Look | None], check: Callable[[], None], show: Callable[[Look], None]) -> Iterator[Look]:
    """Each look, shown again whenever time has passed."""
    last: Look | None = None
    for look in looks:
        check()
        last = look or last
        if last is not None:
            show(last)
            yield last


def _heard(following: Iterator[News]) -> Iterator[News]:
    """The same; why there is no more of it for now is said once."""
    said = ""
    for news in following:
        if news.trouble and news.trouble != said:
            say(f"{news.trouble}; trying again")
        said = news.trouble
        yield news


def _told_as_json(following: Iterator[News]) -> Iterator[Look]:
    told: dict[str, Any] = {}
    for news in following:
        experiment = news.experiment
        seen = {key: experiment[key] for key in _CHANGES}
        if seen != told:
            tell_json(experiment, line=True)
            told = seen
        yield Look(experiment)


def _last(looks: Iterator[Look]) -> Look:
    """The last of them: who follows an experiment hears of it at least once, or why not."""
    return deque(looks, maxlen=1)[0]


@contextmanager
def _leaving(experiment_id: str) -> Iterator[None]:
    """Who leaves is told that the experiment does not."""
    try:
        yield
    except KeyboardInterrupt:
        say(f"{experiment_id} goes on; `jqueuer watch {experiment_id}` shows it again")
        raise typer.Exit(Exit.INTERRUPTED) from None
