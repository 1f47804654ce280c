"""A broker that refuses is not asked again at once, and what it said is known meanwhile."""

from collections.abc import Iterable

import pytest

from jqueuer.errors import StoreUnavailableError
from jqueuer_manager.watched_queue import AGAIN_SECONDS, WatchedQueue


class Broker:
    """One that can be away."""

    def __init__(self) -> None:
        self.away = False
        self.asked = 0

    def _answer(self) -> int:
        self.asked += 1
        if self.away:
            raise StoreUnavailableError("the broker does not answer")
        return 7

    def publish(self, experiment_id: str, job_ids: Iterable[str], *, again: bool = False) -> int:
        return self._answer()

    def length(self, experiment_id: str) -> int:
        return self._answer()

    def purge(self, experiment_id: str) -> None:
        self._answer()

    def delete(self, experiment_id: str) -> None:
        self._answer()


def test_after_a_refusal_it_is_left_alone_for_a_while() -> None:
    broker, now = Broker(), [0.0]
    queue = WatchedQueue(broker, lambda: now[0])
    assert queue.look("x") == (7, "")
    broker.away = True
    with pytest.raises(StoreUnavailableError):
        queue.publish("x", ["a"])
    assert queue.look("x") == (0, "the broker does not answer")
    with pytest.raises(StoreUnavailableError, match="the broker does not answer"):
        queue.delete("x")
    assert broker.asked == 2
    now[0] += AGAIN_SECONDS
    broker.away = False
    assert queue.look("x") == (7, "")
    assert queue.publish("x", ["a"]) == 7
    queue.purge("x")
    assert broker.asked == 5
