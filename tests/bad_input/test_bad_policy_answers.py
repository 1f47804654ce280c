"""Whatever a policy service answers, containers are decided on, and the journal says by whom and why."""

from __future__ import annotations

import contextlib
import json
import socket
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import pytest

from tests.bad_input.policy_answers import CASES, TIMEOUT, Case
from tests.embedded.running import System

pytestmark = pytest.mark.usefixtures("nothing_lost")
SECONDS = 60.0


@dataclass
class Service:
    """A server that answers each path as the case of that name says."""

    listener: socket.socket = field(default_factory=lambda: socket.create_server(("127.0.0.1", 0), backlog=256))
    stop: threading.Event = field(default_factory=threading.Event)
    asked: Counter[str] = field(default_factory=Counter)
    open: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def url(self, name: str, scheme: str = "http") -> str:
        return f"{scheme}://127.0.0.1:{self.listener.getsockname()[1]}/{name}"

    def serve(self) -> None:
        with contextlib.suppress(OSError):
            while not self.stop.is_set():
                connection, _ = self.listener.accept()
                threading.Thread(target=self._converse, args=(connection,), daemon=True).start()

    def _converse(self, connection: socket.socket) -> None:
        with self._lock:
            self.open += 1
        try:
            with connection, contextlib.suppress(OSError):
                name = self._question(connection)
                BY_NAME[name].speak(connection, self.stop)
        finally:
            with self._lock:
                self.open -= 1

    def _question(self, connection: socket.socket) -> str:
        received = b""
        while b"\r\n\r\n" not in received:
            received += self._more(connection)
        head, _, body = received.partition(b"\r\n\r\n")
        fields = dict(line.lower().split(b": ", 1) for line in head.split(b"\r\n")[1:])
        while len(body) < int(fields[b"content-length"]):
            body += self._more(connection)
        name = head.split(b" ")[1].decode().strip("/")
        with self._lock:
            self.asked[name] += 1
        assert json.loads(body)["minimum"] == 1
        return name

    @staticmethod
    def _more(connection: socket.socket) -> bytes:
        data = connection.recv(65_536)
        if not data or data.startswith(b"\x16"):  # hung up, or speaks TLS
            raise ConnectionError
        return data


BY_NAME = {case.name: case for case in CASES}


@pytest.fixture(scope="module")
def service() -> Iterator[Service]:
    service = Service()
    thread = threading.Thread(target=service.serve, daemon=True)
    thread.start()
    yield service
    service.stop.set()
    service.listener.shutdown(socket.SHUT_RDWR)
    service.listener.close()
    thread.join(SECONDS)


def description(url: str) -> str:
    policy = f'policy: {{url: "{url}", timeout: {TIMEOUT}, period: 30s, fallback: fixed}}'
    return f"containers: {{min: 1, max: 2}}\n{policy}\njobs: [{{command: ['true']}}, {{command: ['true']}}]"


@pytest.fixture(scope="module")
def experiments(system: System, service: Service) -> dict[str, str]:
    """One experiment for each case, all at once; by the case's name."""
    return {case.name: system.submit(description(service.url(case.name))) for case in CASES}


def reason_of(system: System, experiment_id: str) -> str:
    system.api.wait(experiment_id, poll_seconds=0.05)
    assert system.api.summary(experiment_id)["jobs"]["accomplished"] == 2
    created = [entry for entry in system.api.journal(experiment_id) if entry["action"] == "create"]
    return str(created[0]["reason"])


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_containers_are_decided_on_all_the_same(system: System, experiments: dict[str, str], case: Case) -> None:
    reason = reason_of(system, experiments[case.name])
    assert case.said in reason
    assert ("so fixed decides" in reason) == case.falls_back, reason
    assert reason.isprintable()
    assert len(reason) < 700


@pytest.mark.parametrize(
    ("scheme", "name", "said"),
    [("https", "body-empty", "it did not answer"), ("http", "nowhere", "it did not answer")],
)
def test_a_service_that_is_not_there_is_said_to_be(
    system: System, service: Service, scheme: str, name: str, said: str
) -> None:
    url = service.url(name, scheme) if scheme == "https" else "http://127.0.0.1:9/policy"
    reason = reason_of(system, system.submit(description(url)))
    assert said in reason
    assert "so fixed decides" in reason


def test_redirections_are_not_followed(service: Service, experiments: dict[str, str]) -> None:
    assert service.asked["redirection"] > 0
    assert service.asked["led-astray"] == 0


def test_no_conversation_outlives_its_time(
    service: Service, experiments: dict[str, str], eventually: Callable[..., None]
) -> None:
    """Or services that never end their answers would fill the manager with threads."""
    eventually(lambda: sum(service.asked.values()) >= len(CASES), SECONDS)
    eventually(lambda: service.open == 0, SECONDS)
