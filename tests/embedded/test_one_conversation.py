"""Requests to strangers end in time, from the first address that is tried to the last byte of the answer."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections.abc import Callable, Iterator, Sequence

import pytest

from jqueuer_manager.adapters.one_conversation import NoAnswerError, post
from tests.embedded.webhook_receiver import webhook_receiver
from tests.ports import free_port

Addresses = Callable[[Sequence[int]], None]
MANY = 40
SECONDS = 0.5


@pytest.fixture
def addresses(monkeypatch: pytest.MonkeyPatch) -> Addresses:
    """Stands in for a name server: from now on every name is at these ports of this machine."""

    def are(ports: Sequence[int]) -> None:
        found = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", port)) for port in ports]
        monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: found)

    return are


@pytest.fixture
def hole() -> Iterator[int]:
    """A port where connecting never comes to an end: its listener has as many waiting as it takes."""
    with contextlib.ExitStack() as stack:
        listener = stack.enter_context(socket.socket())
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        for _ in range(4):
            waiting = stack.enter_context(socket.socket())
            waiting.setblocking(False)
            waiting.connect_ex(listener.getsockname())
        yield int(listener.getsockname()[1])


@contextlib.contextmanager
def dripping(first: bytes, drop: bytes) -> Iterator[int]:
    """A port where, whatever is asked, the answer is one drop after the other."""
    let_go = threading.Event()

    def drip() -> None:
        connection, _ = listener.accept()
        with connection, contextlib.suppress(OSError):
            connection.sendall(first)
            while not let_go.wait(0.05):
                connection.sendall(drop)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=drip, daemon=True)
        thread.start()
        yield int(listener.getsockname()[1])
        let_go.set()


def lasted(url: str) -> float:
    """Seconds until there was no answer in time."""
    begun = time.monotonic()
    with pytest.raises(NoAnswerError, match=r"^no answer within 0\.5 s$"):
        post(url, b"{}", {}, timeout_seconds=SECONDS, most_bytes=9)
    return time.monotonic() - begun


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_the_limit_is_for_all_addresses_of_a_name(scheme: str, addresses: Addresses, hole: int) -> None:
    addresses([hole] * MANY)
    assert lasted(f"{scheme}://many.example/") < MANY * SECONDS / 4


@pytest.mark.parametrize(
    ("scheme", "first", "drop"),
    [("http", b"HTTP/1.1 200 OK\r\nX: ", b"x"), ("https", b"\x16\x03\x03\x40\x00", b"\x0b")],
    ids=["headers", "handshake"],
)
def test_and_for_what_comes_after_an_address_that_took_long(
    scheme: str, first: bytes, drop: bytes, addresses: Addresses, hole: int
) -> None:
    with dripping(first, drop) as port:
        addresses([hole, port])
        assert lasted(f"{scheme}://drip.example/") < 10 * SECONDS


def test_an_address_that_is_dead_leaves_time_for_the_next(addresses: Addresses, hole: int) -> None:
    with webhook_receiver() as receiver:
        addresses([free_port(), hole, receiver.port])
        assert post("http://two.example/", b"{}", {}, timeout_seconds=4.0, most_bytes=0) == (204, b"")


def test_after_a_look_up_that_took_too_long_nobody_is_connected_to(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.setblocking(False)
        found = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", listener.getsockname())]

        def slowly(*_: object, **__: object) -> list[object]:
            threading.Event().wait(SECONDS + 0.1)
            return list(found)

        monkeypatch.setattr(socket, "getaddrinfo", slowly)
        lasted("http://slow.example/")
        with pytest.raises(BlockingIOError):
            listener.accept()


@pytest.mark.parametrize("host", ["127.0.0.1", "[::1]", f"{'a' * 64}.example"])
def test_that_nobody_can_be_reached_is_said_without_a_word_of_the_url(host: str) -> None:
    with pytest.raises(NoAnswerError, match=r"^it did not answer: \w+$"):
        post(f"http://{host}:{free_port()}/", b"{}", {}, timeout_seconds=9.0, most_bytes=0)
