"""Which experiments of earlier runs concern this one."""

from __future__ import annotations

from typing import Any, Final

from jqueuer.cli.output import say
from jqueuer.client import Client, ClientError

_UNFINISHED: Final = ("running", "paused", "finishing")


def unfinished(client: Client, source: str, source_digest: str) -> dict[str, Any] | None:
    """The newest experiment of the same file with the same content that has not ended."""
    for experiment in client.experiments(states=_UNFINISHED):
        if (experiment["source"], experiment["source_digest"]) == (source, source_digest):
            return experiment
    return None


def set_others_aside(client: Client, *, keep: str | None) -> None:
    """Pause what other runs left behind, so that it does not compete; running its file again goes on with it."""
    for experiment in list(client.experiments(states=("running",))):
        if experiment["id"] == keep:
            continue
        try:
            client.pause(experiment["id"])
        except ClientError:
            continue  # it has just ended
        origin = experiment["source"] or experiment["name"]
        say(f"notice: {experiment['id']} ({origin}) is unfinished; it stays paused until that file is run again")
