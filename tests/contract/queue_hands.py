"""Hands that take messages out of a job queue one at a time, as a worker does, and may let go of them."""

from __future__ import annotations

from typing import Any

from celery import Celery

from jqueuer.adapters.celery_queue import job_queue
from jqueuer.adapters.job_messages import named_job
from jqueuer.signing import MessageSigner


class Hands:
    """A consumer of an experiment's queue that acknowledges when it is told to."""

    experiment_id = ""

    def __init__(self, app: Celery, signer: MessageSigner) -> None:
        self._app, self._signer = app, signer
        self._connection: Any = None
        self.held: list[tuple[str, Any]] = []
        """What was taken and not acknowledged: the job's id, and the message."""

    def take(self) -> str | None:
        """The next message, if there is one: the job that it names."""
        queue: Any = job_queue(self.experiment_id, str(self._app.conf.broker_url))
        if self._connection is None:
            self._connection = self._app.connection_for_read()
            queue(self._connection.default_channel).declare()
        message = queue(self._connection.default_channel).get(accept=["json"])
        if message is None:
            return None
        job_id = named_job(message, self.experiment_id, self._signer)
        self.held.append((job_id, message))
        return job_id

    def acknowledge(self, index: int) -> str:
        """It is done with; the job that it named."""
        job_id, message = self.held.pop(index)
        message.ack()
        return job_id

    def let_go(self) -> list[str]:
        """The connection ends: what is held goes back into the queue."""
        held = [job_id for job_id, _ in self.held]
        self.held.clear()
        if self._connection is not None:
            self._connection.close()
            self._connection = None
        return held
