"""The outbox: what people are to be told, until their receivers have taken it."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Protocol

from jqueuer.notifying import Message
from jqueuer.records import JournalEntry


class Outbox(Protocol):
    """Messages that are to be delivered; called by the manager.

    What ends an experiment is put into it by :meth:`~jqueuer.ports.ExperimentStore.move`, in one step with the end.
    A message goes with its experiment. Delivery is at least once: whoever takes one out and dies leaves it there.
    """

    def tell_at_risk(self, experiment_id: str, messages: Sequence[Message], entry: JournalEntry) -> bool:
        """The deadline is at risk: put these in, journal it, and remember that it was told, all in one step.

        False, and nothing done, where it was told already, or the experiment has ended or is gone.
        """

    def forget_risk(self, experiment_id: str) -> None:
        """It is clearly safe again: the next risk is told."""

    def due(self, now: float, *, busy: Collection[str], limit: int) -> list[Message]:
        """What is to be tried now, the longest due first: one message for each receiver that is not ``busy``.

        A receiver is known by :func:`~jqueuer.notifying.receiver_of`.
        """

    def postpone(self, message: Message, until: float, entry: JournalEntry | None = None) -> None:
        """A try has failed: count it, and try again then; journal it where there is an entry."""

    def close(self, message: Message, entry: JournalEntry, *, delivered: bool) -> None:
        """It was delivered, or is given up: journal it, count it, and forget the message."""

    def outcomes(self) -> Mapping[str, int]:
        """Tries since the store began: ``delivered``, ``failed`` and messages ``given-up``."""
