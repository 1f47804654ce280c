"""The store of experiments, and what was decided about them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from jqueuer.model import Experiment
from jqueuer.notifying import Message
from jqueuer.records import ExperimentRecord, HistoryPoint, JournalEntry
from jqueuer.states import ExperimentState


class ExperimentStore(Protocol):
    """The experiments and what was decided about them. Called by the manager; agents read."""

    def create(self, record: ExperimentRecord) -> None:
        """Remember a new experiment, in state ``receiving``: nothing else sees it until :meth:`accept`."""

    def accept(self, experiment_id: str) -> None:
        """All jobs are stored: the experiment is ``running``; from here on nothing may lose it.

        :class:`~jqueuer.errors.NotFoundError` if it is not there any more.
        """

    def get(self, experiment_id: str) -> ExperimentRecord:
        """The record; :class:`~jqueuer.errors.NotFoundError` if there is none or it is still being received."""

    def page(
        self, *, states: Sequence[ExperimentState] = (), owner: str = "", offset: int = 0, limit: int = 50
    ) -> tuple[list[ExperimentRecord], int]:
        """Experiments, newest first, and how many match in all; everybody's where no owner is named."""

    def active(self) -> list[str]:
        """Ids of accepted experiments that are not settled; the paper's *experiment queue*."""

    def unfinished_of(self, owner: str) -> int:
        """How many experiments of this owner are being received or have not ended."""

    def unfinished_receipts(self) -> list[str]:
        """Ids still in ``receiving``; left over by a manager that died, to be deleted at its start."""

    def move(
        self,
        experiment_id: str,
        expected: Sequence[ExperimentState],
        state: ExperimentState,
        *,
        reason: str = "",
        messages: Sequence[Message] = (),
    ) -> bool:
        """Change the state if it is one of the expected ones; False (and no change) otherwise.

        A terminal state stamps ``finished_at`` with the store's clock, any other clears it. ``messages`` that tell of
        the end are in the outbox if and only if it ended by this.
        """

    def finished_like(self, description: Experiment) -> list[str]:
        """Ids of accomplished and failed experiments of the same image and name, the latest first; a bounded number.

        Without an image the same name is enough; without either there is nothing to tell what is alike.
        """

    def settle(self, experiment_id: str) -> None:
        """Nothing of it runs any more: no longer among the active ones, unless it is running again meanwhile."""

    def amend(
        self,
        experiment_id: str,
        *,
        deadline_at: float | None = None,
        minimum: int | None = None,
        maximum: int | None = None,
    ) -> ExperimentRecord:
        """Change deadline or container limits of an experiment; what is None stays."""

    def set_published(self, experiment_id: str, count: int) -> None:
        """Remember how many jobs were handed to the queue."""

    def journal(self, experiment_id: str, entry: JournalEntry) -> None:
        """Append a decision; old ones are dropped beyond the configured number."""

    def decisions(self, experiment_id: str, *, limit: int = 200) -> list[JournalEntry]:
        """The latest decisions, oldest first."""

    def count_by_state(self) -> dict[ExperimentState, int]:
        """How many accepted experiments are in each state; states without any are left out."""

    def record_point(self, experiment_id: str, point: HistoryPoint, *, at_once: bool = False) -> float:
        """Remember how it stands, unless it is too early after the last point; the seconds until the next is due.

        A bounded number is kept: whenever they are as many, every second one is forgotten, and from then on the next is
        due after twice the time. ``at_once``: however early it is.
        """

    def history(self, experiment_id: str) -> list[HistoryPoint]:
        """The points that are kept, by their moments."""

    def latest_points(self, experiment_ids: Sequence[str]) -> list[HistoryPoint | None]:
        """What was remembered last of each, in this order; None where nothing was."""

    def delete(self, experiment_id: str) -> None:
        """Forget the experiment, its jobs and its journal; for a day :meth:`was_deleted` tells that it was here."""

    def was_deleted(self, experiment_id: str) -> bool:
        """Whether an accepted experiment of this id was deleted lately.

        Asked by agents that find containers of an experiment nobody knows: those of a deleted one are theirs to end,
        those of one that was never here are somebody else's.
        """

    def remember_key(self, key: str, digest: str, experiment_id: str) -> tuple[str, str]:
        """First use of an Idempotency-Key wins: returns the (digest, experiment id) that stands for it now."""

    def forget_key(self, key: str, experiment_id: str) -> None:
        """The request behind the key failed; it may be tried again, if this experiment stands for it."""

    def memory_bytes(self) -> int:
        """Memory that the store uses for all it holds."""

    def now(self) -> float:
        """The store's clock, seconds since the epoch: one clock for all machines."""
