"""Times are told by the manager's clock, whatever that of this machine says."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from jqueuer.client import Client


class Manager(BaseHTTPRequestHandler):
    """Answers everything, by a clock that can be wrong."""

    date = ""

    def do_GET(self) -> None:
        self.send_response_only(200)
        if self.date:
            self.send_header("Date", self.date)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *arguments: object) -> None:
        pass


@pytest.fixture
def client() -> Iterator[Client]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Manager) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        with Client(f"http://127.0.0.1:{server.server_port}", token="unused") as client:
            yield client
        server.shutdown()
        thread.join()


@pytest.mark.parametrize("hours", [-5, 5])
def test_a_clock_that_differs_is_believed(client: Client, hours: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Manager, "date", formatdate(time.time() + 3600 * hours, usegmt=True))
    client.ready()
    assert round((client.now() - time.time()) / 3600) == hours


@pytest.mark.parametrize("date", ["", "yesterday", formatdate(0, usegmt=True)[:9]])
def test_who_says_no_time_has_that_of_this_machine(client: Client, date: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Manager, "date", date)
    client.ready()
    before = time.time()
    assert before <= client.now() <= time.time()


def test_whole_seconds_are_not_taken_for_a_difference(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Manager, "date", formatdate(time.time(), usegmt=True))
    client.ready()
    before = time.time()
    assert before <= client.now() <= time.time()
