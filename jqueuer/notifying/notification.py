"""What is told: a message to one receiver, and the JSON that it gets.

Moments are seconds since the epoch (``…_at``), as everywhere in the API; only ``timestamp`` is written as the Standard
Webhooks specification has it.
"""

from __future__ import annotations

import secrets
from datetime import UTC, datetime
from typing import Final, Literal, TypeAlias
from urllib.parse import urlsplit

from pydantic import Field

from jqueuer.frozen import Frozen
from jqueuer.notify import Occasion
from jqueuer.states import ExperimentState

EventType: TypeAlias = Literal["experiment.accomplished", "experiment.failed", "experiment.deadline_at_risk"]

TYPES: Final[dict[Occasion, EventType]] = {
    "accomplished": "experiment.accomplished",
    "failed": "experiment.failed",
    "at-risk": "experiment.deadline_at_risk",
}


class JobFacts(Frozen):
    """Jobs by state."""

    total: int
    queued: int
    running: int
    accomplished: int
    failed: int
    cancelled: int


class ForecastFacts(Frozen):
    """What was forecast for the containers there were."""

    finish_at: float = Field(description="The last job ends as likely earlier as later: the P50")
    p95_at: float = Field(description="Until then with 95 %")
    probability: float | None = Field(description="That it is before the deadline")
    containers: int = Field(description="The number of containers it is for")


class Facts(Frozen):
    """The experiment as it stood; nothing of what it runs, or runs with."""

    id: str
    name: str
    owner: str
    state: ExperimentState
    reason: str = Field(description="Why, in words")
    created_at: float
    deadline_at: float | None
    finished_at: float | None = Field(description="None where it had not ended")
    jobs: JobFacts
    attempts: int = Field(description="Attempts at jobs that were started")
    container_seconds: float = Field(description="Lifetimes of the containers that had ended, added up")
    forecast: ForecastFacts | None = Field(description="Of an experiment that had not ended")


class Body(Frozen):
    """The body of a webhook."""

    type: EventType
    timestamp: datetime = Field(description="When it happened")
    data: Facts


class Message(Frozen):
    """What one receiver is to be told; the same whenever it is tried."""

    id: str
    experiment_id: str
    occasion: Occasion
    url: str
    """Empty for the receiver that the manager's settings name."""
    facts: Facts
    at: float = 0.0
    """When it happened, by the store's clock, which sets it."""
    tries: int = 0
    """So many have failed."""

    @property
    def type(self) -> EventType:
        """What it is about, in the receiver's words."""
        return TYPES[self.occasion]

    def body(self) -> bytes:
        """The JSON that the receiver gets."""
        ended = {"finished_at": self.at} if self.facts.state.terminal else {}
        body = Body(
            type=self.type,
            timestamp=datetime.fromtimestamp(self.at, UTC),
            data=self.facts.model_copy(update=ended),
        )
        return body.model_dump_json().encode()


def new_message(experiment_id: str, occasion: Occasion, url: str, facts: Facts) -> Message:
    """A message with an id of its own."""
    return Message(
        id=f"msg_{secrets.token_hex(12)}", experiment_id=experiment_id, occasion=occasion, url=url, facts=facts
    )


def receiver_of(url: str) -> str:
    """Who is behind a URL, as logs and journals name it: paths and queries of webhooks are often secret.

    ``-`` for the receiver that the manager's settings name.
    """
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}" if url else "-"
