"""Which experiments of earlier runs concern this one."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from jqueuer.cli.output import say
from jqueuer.client import Client, ClientError

_UNFINISHED: Final = ("running", "paused", "finishing")


class Undelivered:
    """Which experiments were begun by ``run`` and never summarised by it: remembered beside everything else."""

    def __init__(self, state: Path) -> None:
        self._directory = state / "undelivered"
        self._directory.mkdir(parents=True, exist_ok=True)

    def __contains__(self, experiment_id: str) -> bool:
        return (self._directory / experiment_id).exists()

    def add(self, experiment_id: str) -> None:
        """It was begun."""
        (self._directory / experiment_id).touch()

    def remove(self, experiment_id: str) -> None:
        """Its results and its summary were delivered."""
        (self._directory / experiment_id).unlink(missing_ok=True)


def unfinished(client: Client, source: str, source_digest: str, undelivered: Undelivered) -> dict[str, Any] | None:
    """The newest experiment of the same file with the same content that has not ended, or not been delivered."""
    for experiment in client.experiments():
        if (experiment["source"], experiment["source_digest"]) != (source, source_digest):
            continue
        if experiment["state"] in _UNFINISHED or experiment["id"] in undelivered:
            return experiment
    return None


def set_others_aside(client: Client, *, keep: str | None, source: str) -> None:
    """Pause what other runs left behind, so that it does not compete; running its file again goes on with it."""
    for experiment in list(client.experiments(states=("running", "paused"))):
        if experiment["id"] == keep:
            continue
        if experiment["source"] == source:
            jobs = experiment["jobs"]
            done = f"{jobs['accomplished']} of {jobs['total']} jobs done"
            say(f"notice: this file or its inputs have changed since {experiment['id']} ({done}): starting anew")
        if experiment["state"] == "paused":
            continue
        try:
            client.pause(experiment["id"])
        except ClientError:
            continue  # it has just ended
        origin = experiment["source"] or experiment["name"]
        say(f"notice: {experiment['id']} ({origin}) is unfinished; paused until that very file is run again")
