"""Whether the broker answers, and how long the queues are, for who must not wait long for that."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from concurrent.futures import Future
from typing import Final

from jqueuer.errors import StoreUnavailableError
from jqueuer.ports import JobQueue

PATIENCE_SECONDS: Final = 1.0


class BrokerWatch:
    """Asks from a thread of its own, one question at a time; safe among threads."""

    def __init__(self, queue: JobQueue, *, patience_seconds: float = PATIENCE_SECONDS) -> None:
        self._queue = queue
        self._patience_seconds = patience_seconds
        self._lock = threading.Lock()
        self._under_way: Future[dict[str, int] | None] | None = None

    def lengths(self, experiment_ids: Sequence[str]) -> dict[str, int] | None:
        """Messages waiting, by experiment; None where the broker does not answer, or not within the patience.

        A late answer is the next one's, who may have asked for other experiments.
        """
        with self._lock:
            if self._under_way is None:
                self._under_way = self._ask(tuple(experiment_ids))
            try:
                answer = self._under_way.result(self._patience_seconds)
            except TimeoutError:
                return None
            self._under_way = None
            return answer

    def _ask(self, experiment_ids: tuple[str, ...]) -> Future[dict[str, int] | None]:
        answer = Future[dict[str, int] | None]()

        def work() -> None:
            try:
                self._queue.check()
                answer.set_result({one: self._queue.length(one) for one in experiment_ids})
            except StoreUnavailableError:
                answer.set_result(None)
            except BaseException as error:
                answer.set_exception(error)

        threading.Thread(target=work, name="broker-watch", daemon=True).start()
        return answer
