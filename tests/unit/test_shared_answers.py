"""Many who ask the same while all turns are taken are answered together, each as if it had asked alone."""

from __future__ import annotations

import io
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import pytest
from werkzeug.test import EnvironBuilder, run_wsgi_app

from jqueuer_manager.open_requests import Kind, OpenRequests
from jqueuer_manager.shared_answers import question_of

Wait = Callable[..., None]
PATH = "/api/v1/experiments"
AT_ONCE = 3


class Desk:
    """Answers questions, with how many were asked before; each only once it may."""

    def __init__(self, status: str = "200 OK", headers: dict[str, str] | None = None) -> None:
        self.asked: list[str] = []
        self.may = threading.Semaphore(0)
        self._status, self._headers = status, headers or {}
        self._requests = OpenRequests(self._answer, 100)
        self._pool = ThreadPoolExecutor(50)

    def _answer(self, environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        self.asked.append(environ["PATH_INFO"])
        body = str(len(self.asked)).encode()
        self.may.acquire()
        if environ["PATH_INFO"].endswith("/broken"):
            raise OSError("it broke")
        start_response(self._status, [*self._headers.items(), ("Content-Length", str(len(body)))])
        return [body]

    def ask(self, path: str = PATH, **more: Any) -> Future[bytes]:
        """What is answered, once it is."""
        environ = EnvironBuilder(path=path, **more).get_environ()
        return self._pool.submit(lambda: b"".join(run_wsgi_app(self._requests, environ, buffered=True)[0]))

    def open(self) -> int:
        """How many wait, or are being answered."""
        return self._requests.by_kind()[Kind.QUESTION.name.lower()]

    def take_all_turns(self, eventually: Wait) -> list[Future[bytes]]:
        """Ask so much that who comes next has to wait."""
        asked = [self.ask(f"/{number}") for number in range(AT_ONCE)]
        eventually(lambda: len(self.asked) == AT_ONCE)
        return asked

    def close(self) -> None:
        """Let go of whoever waits."""
        self.may.release(1000)
        self._pool.shutdown()


@pytest.fixture
def desk_of() -> Iterator[Callable[..., Desk]]:
    made: list[Desk] = []

    def make(**more: Any) -> Desk:
        made.append(Desk(**more))
        return made[-1]

    yield make
    for desk in made:
        desk.close()


def waiting(desk: Desk, eventually: Wait, *asked: Future[bytes]) -> list[Future[bytes]]:
    """These questions, once they wait behind those that have the turns."""
    eventually(lambda: desk.open() == AT_ONCE + len(asked))
    return list(asked)


def answers(asked: list[Future[bytes]]) -> list[bytes]:
    return [one.result(60) for one in asked]


def test_those_who_wait_for_the_same_are_answered_by_one_look(desk_of: Callable[..., Desk], eventually: Wait) -> None:
    desk = desk_of()
    desk.take_all_turns(eventually)
    same = waiting(desk, eventually, *(desk.ask() for _ in range(20)))
    desk.may.release(AT_ONCE + 1)
    assert answers(same) == [b"4"] * 20
    eventually(lambda: desk.open() == 0)


def test_who_asks_after_the_look_began_is_not_told_what_it_found(
    desk_of: Callable[..., Desk], eventually: Wait
) -> None:
    desk = desk_of()
    desk.take_all_turns(eventually)
    early = waiting(desk, eventually, desk.ask(), desk.ask())
    desk.may.release(1)
    eventually(lambda: len(desk.asked) == AT_ONCE + 1)
    late = desk.ask()
    eventually(lambda: desk.open() == AT_ONCE + 2)
    desk.may.release(AT_ONCE + 1)
    assert answers(early) == [b"4", b"4"]
    assert late.result(60) == b"5"


@pytest.mark.parametrize(
    "more",
    [
        {"status": "401 UNAUTHORIZED"},
        {"status": "404 NOT FOUND"},
        {"headers": {"Set-Cookie": "jqueuer_session=theirs"}},
    ],
)
def test_what_is_for_one_alone_is_told_to_nobody_else(
    desk_of: Callable[..., Desk], eventually: Wait, more: dict[str, Any]
) -> None:
    """A refusal is counted by who is refused."""
    desk = desk_of(**more)
    desk.take_all_turns(eventually)
    same = waiting(desk, eventually, *(desk.ask() for _ in range(5)))
    desk.may.release(AT_ONCE + 5)
    assert sorted(answers(same)) == [b"4", b"5", b"6", b"7", b"8"]


def test_a_look_that_fails_fails_for_who_asked_and_the_others_ask_for_themselves(
    desk_of: Callable[..., Desk], eventually: Wait
) -> None:
    desk = desk_of()
    desk.take_all_turns(eventually)
    same = waiting(desk, eventually, *(desk.ask("/broken") for _ in range(3)))
    desk.may.release(AT_ONCE + 3)
    assert [type(one.exception(60)) for one in same] == [OSError] * 3
    assert desk.asked[AT_ONCE:] == ["/broken"] * 3
    eventually(lambda: desk.open() == 0)
    desk.may.release()
    assert desk.ask().result(60) == b"7"


ALIKE: dict[str, Any] = {
    "path": PATH,
    "query_string": "limit=50",
    "headers": {"Authorization": "Bearer a", "Accept": "*/*"},
}


def test_the_same_question_is_the_same() -> None:
    assert question_of(EnvironBuilder(**ALIKE).get_environ()) == question_of(EnvironBuilder(**ALIKE).get_environ())


@pytest.mark.parametrize(
    "other",
    [
        {"headers": {"Authorization": "Bearer b", "Accept": "*/*"}},
        {"headers": {"Accept": "*/*"}},
        {"headers": {"Authorization": "Bearer a", "Accept": "*/*", "Range": "bytes=0-9"}},
        {"headers": {"Authorization": "Bearer a", "Accept": "*/*", "Cookie": "jqueuer_session=x"}},
        {"query_string": "limit=51"},
        {"path": f"{PATH}/x"},
        {"method": "HEAD"},
        {"base_url": "https://localhost"},
        {"base_url": "http://elsewhere"},
    ],
)
def test_whatever_an_answer_may_depend_on_makes_another_question(other: dict[str, Any]) -> None:
    theirs = question_of(EnvironBuilder(**{**ALIKE, **other}).get_environ())
    assert theirs is not None
    assert theirs != question_of(EnvironBuilder(**ALIKE).get_environ())


@pytest.mark.parametrize(
    "body", [{"input_stream": io.BytesIO(b"{}"), "content_length": 2}, {"headers": {"Transfer-Encoding": "chunked"}}]
)
def test_a_question_with_a_body_is_like_no_other(body: dict[str, Any]) -> None:
    assert question_of(EnvironBuilder(path=PATH, **body).get_environ()) is None
