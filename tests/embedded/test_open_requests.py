"""More requests than the manager takes are told to come again; whoever watches its health never is."""

from __future__ import annotations

import select
import socket
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import ExitStack
from pathlib import Path

import pytest
import requests

from jqueuer.adapters.redis_store.connection import StoreClient
from jqueuer.adapters.valkey import ValkeyServer
from tests.embedded.own_manager import OwnManager, own_manager

LIMIT = 32
AT_ONCE = 16
"""Commands that are worked on at the same time."""
SUBMISSIONS = LOGINS = 4
"""An eighth of the limit; so many logins may come from one address, however high the limit."""
ELSEWHERE = "127.0.0.2"
"""Another address of this machine; the others come from the first."""

Begin = Callable[..., socket.socket]


@pytest.fixture
def limit() -> int:
    return LIMIT


@pytest.fixture
def manager(
    client: StoreClient, valkey: ValkeyServer, state_dir: Path, eventually: Callable[..., None], limit: int
) -> Iterator[OwnManager]:
    settings = {"store_url": valkey.store_url, "broker_url": valkey.broker_url, "max_open_requests": str(limit)}
    with own_manager(state_dir, eventually, **settings) as started:
        eventually(lambda: get(started, "/readyz").ok, 30)
        yield started


@pytest.fixture
def begin(manager: OwnManager) -> Iterator[Begin]:
    """Begin a request and leave it open: of its body nothing is sent but what has been."""
    with ExitStack() as stack:

        def begun(method: str, path: str, kind: str, body: bytes = b"{", address: str = "127.0.0.1") -> socket.socket:
            connection = stack.enter_context(
                socket.create_connection(manager.address, timeout=60, source_address=(address, 0))
            )
            head = f"{method} {path} HTTP/1.1\r\nHost: m\r\nContent-Type: {kind}\r\nContent-Length: 1000\r\n\r\n"
            connection.sendall(head.encode() + body)
            return connection

        yield begun


def get(manager: OwnManager, path: str = "/api/v1/experiments") -> requests.Response:
    return requests.get(f"{manager.url}{path}", timeout=60)


def change(manager: OwnManager) -> requests.Response:
    return requests.patch(f"{manager.url}/api/v1/experiments/nobody", json={"deadline": "1h"}, timeout=60)


def busy(answer: requests.Response, words: str) -> bool:
    if answer.status_code != 503:
        return False
    assert answer.headers["Content-Type"] == "application/problem+json"
    assert answer.headers["Retry-After"] == "2"
    problem = answer.json()
    assert problem["type"] == "urn:jqueuer:problem:busy"
    assert f"{words} are open, as many as this manager takes at once (JQUEUER_MAX_OPEN_REQUESTS)" in problem["detail"]
    return True


def a_change(begin: Begin) -> socket.socket:
    return begin("PATCH", "/api/v1/experiments/nobody", "application/json")


def a_login(begin: Begin, **more: str) -> socket.socket:
    return begin("POST", "/api/v1/session", "application/json", **more)


def a_submission(begin: Begin) -> socket.socket:
    return begin("POST", "/api/v1/experiments", "application/x-ndjson", b'{"name": "t"}\n')


def renew(begun: list[socket.socket], again: Callable[[], socket.socket]) -> None:
    """Begin those again that were refused, because a question came between them."""
    for refused in select.select(begun, [], [], 0)[0]:
        begun[begun.index(refused)] = again()


def test_beyond_the_limit_requests_are_told_to_come_again_and_health_is_still_answered(
    manager: OwnManager, begin: Begin, eventually: Callable[..., None]
) -> None:
    """Begun and waiting ones count alike; what was open before is not lost by it."""
    begun = [a_change(begin) for _ in range(LIMIT)]

    def full() -> bool:
        renew(begun, lambda: a_change(begin))
        nothing = requests.post(f"{manager.url}/api/v1/experiments", timeout=60)  # never waits: submissions have room
        return busy(nothing, f"{LIMIT} requests")

    eventually(full)
    assert busy(get(manager), f"{LIMIT} requests")
    assert [get(manager, path).status_code for path in ("/healthz", "/readyz")] == [200, 200]
    for connection in begun:
        connection.sendall(b" " * 999)
    assert {connection.recv(12) for connection in begun} == {b"HTTP/1.1 422"}  # "{   …" is no JSON
    assert get(manager).status_code == 200


def test_who_waits_is_answered_when_its_turn_comes(
    manager: OwnManager, begin: Begin, eventually: Callable[..., None]
) -> None:
    """Not before, and in spite of all those that are still being worked on; who only asks need not wait for them."""
    begun = [a_change(begin) for _ in range(AT_ONCE)]
    with ThreadPoolExecutor(AT_ONCE // 2) as pool:
        waiting = []

        def waits() -> bool:
            waiting.append(pool.submit(change, manager))
            return not wait(waiting[-1:], timeout=1.0).done

        eventually(waits)
        waiting += [pool.submit(change, manager) for _ in range(AT_ONCE // 2 - 1)]
        assert get(manager).status_code == 200
        assert not wait(waiting[-AT_ONCE // 2 :], timeout=1.0).done
        begun[0].close()
        assert {one.result().status_code for one in waiting} == {404}


def test_submissions_take_no_more_than_their_share_and_questions_are_answered_meanwhile(
    manager: OwnManager, begin: Begin, eventually: Callable[..., None]
) -> None:
    begun = [a_submission(begin) for _ in range(SUBMISSIONS)]

    def refused() -> bool:
        renew(begun, lambda: a_submission(begin))
        answer = requests.post(
            f"{manager.url}/api/v1/experiments",
            json={"jobs": [{"id": "a", "command": ["true"]}]},
            timeout=60,
        )
        return busy(answer, f"{SUBMISSIONS} submissions")

    eventually(refused)
    assert [get(manager).status_code for _ in range(AT_ONCE)] == [200] * AT_ONCE
    begun.pop().close()
    eventually(lambda: not refused())


def test_a_connection_that_says_nothing_is_no_open_request(manager: OwnManager) -> None:
    with ExitStack() as stack:
        for _ in range(2 * LIMIT):
            stack.enter_context(socket.create_connection(manager.address))
        assert get(manager).status_code == 200


def test_who_was_refused_is_told_so_before_its_body_has_come_and_keeps_nobody_waiting(
    manager: OwnManager, begin: Begin
) -> None:
    """Else whoever has no token could hold all turns, by a byte now and then. What is sent then is read, not minded."""
    begun = [begin("POST", "/api/v1/nowhere", "application/json") for _ in range(AT_ONCE)]
    assert get(manager).status_code == 200
    for connection in begun:
        answer = connection.makefile("rb")
        assert answer.readline() == b"HTTP/1.1 404 NOT FOUND\r\n"
        connection.sendall(b" " * 999 + b"GET /healthz HTTP/1.1\r\nHost: m\r\n\r\n")
        assert any(line.endswith(b"HTTP/1.1 200 OK\r\n") for line in answer)


def test_logins_that_are_never_finished_keep_no_question_waiting(manager: OwnManager, begin: Begin) -> None:
    """Of them alone a body is read before anybody knows whose it is."""
    begun = [a_login(begin) for _ in range(AT_ONCE)]
    assert get(manager).status_code == 200
    for connection in begun:
        connection.sendall(b" " * 999)
    answers = [connection.recv(12) for connection in begun]
    assert set(answers) == {b"HTTP/1.1 422", b"HTTP/1.1 503"}  # "{   …" is no JSON
    assert answers.count(b"HTTP/1.1 422") == LOGINS


@pytest.mark.parametrize("limit", [2 * LIMIT])
def test_who_begins_many_logins_keeps_nobody_elsewhere_from_logging_in(manager: OwnManager, begin: Begin) -> None:
    begun = [a_login(begin) for _ in range(LOGINS + 1)]
    refused = select.select(begun, [], [], 60)[0][0]
    other = a_login(begin, address=ELSEWHERE)
    other.sendall(b" " * 999)
    assert other.recv(12) == b"HTTP/1.1 422"

    answer = refused.makefile("rb")
    assert answer.readline() == b"HTTP/1.1 503 SERVICE UNAVAILABLE\r\n"
    assert b"4 logins from 127.0.0.1 are open, as many as may come from one address" in answer.read()


def test_a_login_has_less_time_to_come_than_other_commands(manager: OwnManager, begin: Begin) -> None:
    """Nobody can hold a place among the logins by a byte now and then."""
    change, login = a_change(begin), a_login(begin)
    assert login.recv(12) == b"HTTP/1.1 400"
    assert select.select([change], [], [], 0)[0] == []


def test_connections_that_their_clients_do_not_end_hold_nobody_up(manager: OwnManager) -> None:
    """The manager has ended its side, and lingers for what the client may still be sending: not where it accepts."""
    with ExitStack() as stack:
        ended = [stack.enter_context(socket.create_connection(manager.address)) for _ in range(AT_ONCE)]
        for connection in ended:
            connection.sendall(b"GET /healthz HTTP/1.0\r\n\r\n")
        assert get(manager).status_code == 200
        assert any(is_lingering(connection) for connection in ended)


def is_lingering(connection: socket.socket) -> bool:
    """Whether what is sent after the end of the answer is still taken."""
    try:
        while connection.recv(10_000):
            pass
        connection.sendall(b"x")
        return not select.select([], [], [connection], 0.01)[2] and connection.recv(1) == b""
    except OSError:
        return False
