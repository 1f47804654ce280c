"""A client that falls silent in the middle of a request is let go, and its thread with it."""

from __future__ import annotations

import errno
import socket
import ssl
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from jqueuer_manager import worker
from tests.certificates import Authority
from tests.embedded.tls_parts import need, why_no

Pair = tuple[socket.socket, socket.socket]


@pytest.fixture
def pair(monkeypatch: pytest.MonkeyPatch) -> Iterator[Pair]:
    """(the manager's end, the client's) of a connection that may be silent for the tenth of a second."""
    monkeypatch.setattr(worker, "QUIET_SECONDS", 0.1)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        client = socket.create_connection(listener.getsockname())
        ours, address = worker._Listener(listener).accept()
        assert address == client.getsockname()
        with ours, client:
            ours.setblocking(True)
            yield ours, client


def test_silence_in_a_request_is_the_end_of_its_connection(pair: Pair) -> None:
    ours, client = pair
    client.sendall(b"GET / ")
    assert ours.recv(100) == b"GET / "
    with pytest.raises(ConnectionResetError, match=r"nothing for 0\.1 s") as gone:
        ours.recv(100)
    assert gone.value.errno == errno.ECONNRESET


def test_a_head_that_comes_byte_by_byte_is_given_up_and_a_body_is_not(
    pair: Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However little the client lets pass between two bytes: its first line and headers come soon, or never will."""
    monkeypatch.setattr(worker, "HEAD_SECONDS", 0.2)
    ours, client = pair
    assert isinstance(ours, worker._PatientSocket)

    def trickle(bytes_: int) -> None:
        for _ in range(bytes_):
            client.sendall(b"x")
            assert ours.recv(1) == b"x"
            time.sleep(0.005)  # what a slow client does

    ours.begin_head()
    with pytest.raises(ConnectionResetError):
        trickle(10_000)
    ours.begin_body()
    ours.recv(1000)
    trickle(100)


def test_who_had_little_time_is_given_no_more_of_it_by_who_would_wait_longer(pair: Pair) -> None:
    ours, client = pair
    assert isinstance(ours, worker._PatientSocket)
    ours.begin_body()
    ours.hurry(0)
    ours.hurry(60)
    client.sendall(b"x")
    with pytest.raises(ConnectionResetError):
        ours.recv(1)


def test_an_answer_that_nobody_takes_is_given_up(pair: Pair) -> None:
    ours, _ = pair
    with pytest.raises(ConnectionResetError):
        ours.sendall(bytes(100_000_000))


def test_while_it_is_polled_a_connection_does_not_block(pair: Pair) -> None:
    ours, _ = pair
    ours.setblocking(False)
    with pytest.raises(BlockingIOError):
        ours.recv(1)


def test_a_handshake_that_does_not_go_on_is_given_up_and_one_that_does_is_as_patient(
    pair: Pair, tmp_path: Path
) -> None:
    need(why_no("openssl"))
    authority = Authority(tmp_path)
    certificate = authority.certificate("IP:127.0.0.1")

    def default() -> ssl.SSLContext:
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.load_cert_chain(certificate.chain, certificate.key)
        return context

    context = worker.tls_context(None, default)
    assert context.minimum_version is ssl.TLSVersion.TLSv1_2
    plain, client = pair
    with context.wrap_socket(plain, server_side=True, do_handshake_on_connect=False) as ours:
        with pytest.raises(ConnectionResetError):
            ours.do_handshake()

        def greet() -> None:
            with ssl.create_default_context(cafile=str(authority.file)).wrap_socket(
                client, server_hostname="127.0.0.1"
            ) as greeting:
                greeting.sendall(b"hello")
                done.wait(30)

        done = threading.Event()
        thread = threading.Thread(target=greet)
        thread.start()
        try:
            ours.setblocking(True)
            worker.QUIET_SECONDS, quiet = 20.0, worker.QUIET_SECONDS
            ours.settimeout(20.0)
            ours.do_handshake()
            assert ours.recv(100) == b"hello"
            ours.settimeout(quiet)
            with pytest.raises(ConnectionResetError):
                ours.recv(100)
        finally:
            done.set()
            thread.join()
