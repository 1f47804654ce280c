"""What the control loop does about an engine that is slow, or does not answer, when it is asked for its nodes."""

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, cast

import pytest
from sharing_cases import demand, got, node

from jqueuer.errors import EngineUnavailableError
from jqueuer.ports import Orchestrator
from jqueuer.scheduling import Node
from jqueuer_manager import sharing
from jqueuer_manager.sharing import ClusterShares


class Engine:
    """Answers as it is told."""

    def __init__(self, answer: Callable[[], Any]) -> None:
        self.answer = answer

    def nodes(self) -> tuple[Node, ...] | None:
        return cast("tuple[Node, ...] | None", self.answer())


@pytest.fixture
def pool() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(1) as found:
        yield found


@pytest.fixture(autouse=True)
def asked_every_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sharing, "_NODES_SECONDS", 0.0)


def shares_of(engine: Engine, pool: ThreadPoolExecutor) -> ClusterShares:
    return ClusterShares(cast(Orchestrator, engine), pool)


def refuse() -> None:
    raise EngineUnavailableError("the engine does not answer")


def test_without_nodes_nothing_is_limited(pool: ThreadPoolExecutor) -> None:
    assert shares_of(Engine(lambda: None), pool).of([demand("a")]) is None


def test_the_cluster_is_shared_among_all_demands(pool: ThreadPoolExecutor) -> None:
    found = shares_of(Engine(lambda: (node("n1"),)), pool).of([demand("a"), demand("b")])
    assert found is not None
    assert got(found) == {"a": 3, "b": 1}


def test_nobody_has_a_share_before_the_nodes_are_known(pool: ThreadPoolExecutor) -> None:
    assert shares_of(Engine(refuse), pool).of([demand("a")]) == {}


def test_the_nodes_known_before_count_while_the_engine_is_away(pool: ThreadPoolExecutor) -> None:
    engine = Engine(lambda: (node("n1"),))
    shares = shares_of(engine, pool)
    before = shares.of([demand("a")])
    engine.answer = refuse
    assert shares.of([demand("a")]) == before
    engine.answer = lambda: (node("n1", cores=1),)
    after = shares.of([demand("a")])
    assert after is not None
    assert got(after) == {"a": 1}


def test_a_slow_engine_holds_nobody_up(pool: ThreadPoolExecutor) -> None:
    answering = threading.Event()

    def slowly() -> tuple[Node, ...]:
        answering.wait()
        return (node("n1"),)

    shares = shares_of(Engine(slowly), pool)
    assert shares.of([demand("a")]) == {}
    answering.set()
    pool.submit(int).result()
    found = shares.of([demand("a")])
    assert found is not None
    assert got(found) == {"a": 4}
