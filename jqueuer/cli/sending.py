"""From a file to an experiment, with the file's faults reported as the file's."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from jqueuer.cli.exits import WrongFileError
from jqueuer.cli.output import say
from jqueuer.client import Client
from jqueuer.client.submission import submit_file
from jqueuer.errors import DescriptionError


def send_file(client: Client, file: Path, *, if_feasible: bool = False) -> dict[str, Any]:
    """Submit the description with its inputs, and pass on what its user should know; the manager's answer."""
    try:
        answer = submit_file(file, client, if_feasible=if_feasible)
    except DescriptionError as error:
        raise WrongFileError(file, error.faults) from None
    for notice in answer["notices"]:
        say(f"notice: {notice}")
    return answer
