"""Options and arguments that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

DEFAULT_URL = "http://127.0.0.1:8081"

Url = Annotated[str, typer.Option("--url", envvar="JQUEUER_URL", metavar="URL", help="Where the manager answers.")]
AsJson = Annotated[bool, typer.Option("--json", help="Answer in JSON, and nothing else on stdout.")]
StrictDeadline = Annotated[bool, typer.Option("--strict-deadline", help="Exit with 4 if the deadline was missed.")]
ExperimentId = Annotated[str, typer.Argument(metavar="ID", help="The experiment, as `jqueuer list` shows it.")]
DescriptionFile = Annotated[
    Path,
    typer.Argument(metavar="FILE", exists=True, dir_okay=False, readable=True, help="The experiment description."),
]
StateDirectory = Annotated[
    Path,
    typer.Option(
        "--state", envvar="JQUEUER_STATE_DIR", metavar="DIR", file_okay=False, help="Where everything is remembered."
    ),
]
DEFAULT_STATE = Path(".jqueuer")


def examples(*lines: str) -> str:
    """The closing part of a command's help."""
    return "\n\n".join(("Examples:", *(f"  {line}" for line in lines)))
