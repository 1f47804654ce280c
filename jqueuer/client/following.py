"""Staying with an experiment until it has ended: by the manager's events, else by asking again and again.

::

    asked once ──► listening ◄── every RETRY_SECONDS ──┐
                      │ stream cannot be had, or broke │
                      └──────────────► asking ─────────┘
                                          │ no answer for PATIENCE_SECONDS
                                          ▼
                                     ClientError

A manager that restarts, or whose store is away, is waited for.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from typing import Any, Final

from jqueuer.client.client import Client
from jqueuer.client.transport import ClientError
from jqueuer.states import ExperimentState

ASK_SECONDS: Final = 1.0
RETRY_SECONDS: Final = 10.0
"""After how long a stream is tried again."""
PATIENCE_SECONDS: Final = 300.0
"""For how long a manager that does not answer is waited for."""
SETTLE_SECONDS: Final = 10.0
"""How long the containers of an ended experiment are given to end, so that what they cost is known."""
_SETTLING_SECONDS: Final = 0.5


@dataclass(frozen=True)
class News:
    """An experiment as the API describes it, and why nothing newer is known of it; empty where that is all."""

    experiment: dict[str, Any]
    trouble: str = ""


def follow(client: Client, experiment_id: str) -> Iterator[News]:
    """What becomes of an experiment, until it has ended and its last container is gone, or ten seconds have passed.

    Raises :class:`ClientError` where the manager refuses, is not there at first, or stays away for too long.
    """
    experiment = client.experiment(experiment_id)
    yield News(experiment)
    while not _over(experiment):
        for experiment in _told(client, experiment_id):
            yield News(experiment)
            if _over(experiment):
                break
        else:
            for news in _asked(client, experiment):
                experiment = news.experiment
                yield news
                if _over(experiment):
                    break
    yield from _settling(client, experiment)


def _over(experiment: dict[str, Any]) -> bool:
    return ExperimentState(experiment["state"]).terminal


def _told(client: Client, experiment_id: str) -> Iterator[dict[str, Any]]:
    """What the stream tells; nothing more once it is over, whatever the reason: who asks then is told that."""
    try:
        with closing(client.events(experiment_id)) as events:
            for name, experiment in events:
                if name != "experiment":
                    return
                yield experiment
    except (ClientError, ValueError):
        return


def _asked(client: Client, experiment: dict[str, Any]) -> Iterator[News]:
    """What is answered to questions, for as long as the stream is left alone; longer while there is no answer."""
    stream_at = time.monotonic() + RETRY_SECONDS
    lost_at: float | None = None
    while lost_at is not None or time.monotonic() < stream_at:
        try:
            experiment = client.experiment(experiment["id"])
        except ClientError as error:
            lost_at = lost_at or time.monotonic()
            if not _passes(error) or time.monotonic() - lost_at > PATIENCE_SECONDS:
                raise
            yield News(experiment, str(error))
        else:
            lost_at = None
            yield News(experiment)
        time.sleep(ASK_SECONDS)


def _passes(error: ClientError) -> bool:
    return error.status is None or error.status >= 500


def _settling(client: Client, experiment: dict[str, Any]) -> Iterator[News]:
    settled_at = time.monotonic() + SETTLE_SECONDS
    while not experiment["settled"] and time.monotonic() < settled_at:
        time.sleep(_SETTLING_SECONDS)
        try:
            experiment = client.experiment(experiment["id"])
        except ClientError as error:
            if not _passes(error):
                raise
            yield News(experiment, str(error))
        else:
            yield News(experiment)
