"""All commands in one application."""

from __future__ import annotations

from typing import Annotated

import stamina.instrumentation
import typer

from jqueuer import __version__
from jqueuer.cli import (
    backing_up,
    changing,
    describing,
    looking,
    processes,
    quoting,
    results,
    running,
    simulating,
    submitting,
    tokens,
    top,
    watching,
)
from jqueuer.cli.exits import EXIT_CODES, GuardedGroup
from jqueuer.cli.output import tell

app = typer.Typer(
    cls=GuardedGroup,
    name="jqueuer",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
    help="Run thousands of container jobs before a deadline, with as few containers as that takes.",
    epilog=EXIT_CODES,
)
for group in (
    running,
    processes,
    submitting,
    watching,
    quoting,
    looking,
    top,
    results,
    changing,
    describing,
    simulating,
    tokens,
    backing_up,
):
    group.add_commands(app)


def _version(wanted: bool) -> None:
    if wanted:
        tell(f"jqueuer {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True, help="Print it.")] = False,
) -> None:
    """Take the options that stand before the command."""
    stamina.instrumentation.set_on_retry_hooks(())  # a person is told how it ended, not of every attempt


def main() -> None:
    """The entry point of ``jqueuer``."""
    app(prog_name="jqueuer")
