"""What changes is told as it does: to whoever may look, once for all of them, for as long as they listen."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
import requests

from jqueuer.adapters.redis_store.connection import StoreClient
from jqueuer.adapters.valkey import ValkeyServer
from jqueuer.errors import NotFoundError, StoreUnavailableError
from jqueuer.states import AttemptOutcome, ExperimentState
from jqueuer_manager import broadcast
from jqueuer_manager.broadcast import Broadcaster, Message
from jqueuer_manager.open_requests import MOST_STREAMS
from tests.embedded.api_manager import Manager
from tests.embedded.own_manager import OwnManager, own_manager

Wait = Callable[..., None]


class Listener:
    """What a browser hears."""

    def __init__(self, response: requests.Response) -> None:
        assert response.status_code == 200, response.text
        assert response.headers["Content-Type"] == "text/event-stream"
        self._lines = response.iter_lines(chunk_size=1, decode_unicode=True)

    def next(self) -> tuple[str, Any]:
        """The next event and its data."""
        name = ""
        for line in self._lines:
            if line.startswith("event: "):
                name = line.removeprefix("event: ")
            if line.startswith("data: "):
                return name, json.loads(line.removeprefix("data: "))
        return "", None


@pytest.fixture
def listen() -> Iterator[Callable[..., Listener]]:
    with ExitStack() as stack:

        def begin(manager: Manager, experiment_id: str = "", token: str = "", cookie: str = "") -> Listener:
            shown = {"Authorization": f"Bearer {token}"} if token else manager.http.headers
            shown = {"Cookie": cookie} if cookie else shown
            url, query = f"{manager.url}/api/v1/events", {"experiment": experiment_id} if experiment_id else {}
            response = requests.get(url, params=query, headers=shown, stream=True, timeout=30)
            return Listener(stack.enter_context(response))

        yield begin


def test_who_listens_hears_of_every_change(manager: Manager, listen: Callable[..., Listener]) -> None:
    experiment_id = manager.submit_jobs(2)
    events = listen(manager, experiment_id)
    name, first = events.next()
    assert (name, first["id"], first["jobs"]["queued"]) == ("experiment", experiment_id, 2)
    manager.run(experiment_id, "j0", outcome=AttemptOutcome.FAILED)
    heard = (events.next()[1]["jobs"] for _ in range(10))
    assert next(jobs for jobs in heard if jobs["failed"]) == first["jobs"] | {"queued": 1, "failed": 1}


def test_what_is_told_is_what_would_be_answered(manager: Manager, listen: Callable[..., Listener]) -> None:
    experiment_id = manager.submit_jobs(2)
    manager.end(experiment_id, ExperimentState.CANCELLED)
    detail = manager.http.get(f"{manager.url}/api/v1/experiments/{experiment_id}", timeout=10).json()
    assert listen(manager, experiment_id).next() == ("experiment", detail)
    page = manager.http.get(f"{manager.url}/api/v1/experiments", timeout=10).json()
    assert listen(manager).next() == ("experiments", page)


def test_who_listens_to_the_list_hears_of_new_experiments(manager: Manager, listen: Callable[..., Listener]) -> None:
    events = listen(manager)
    assert events.next() == ("experiments", {"experiments": [], "total": 0, "next": None})
    experiment_id = manager.submit_jobs(1)
    assert [item["id"] for item in events.next()[1]["experiments"]] == [experiment_id]


def test_a_stream_ends_with_its_experiment(manager: Manager, listen: Callable[..., Listener]) -> None:
    experiment_id = manager.submit_jobs(1)
    manager.end(experiment_id, ExperimentState.CANCELLED)
    events = listen(manager, experiment_id)
    events.next()
    manager.api.delete(experiment_id)
    assert events.next() == ("deleted", {})
    assert events.next() == ("", None), "the stream has ended"


@pytest.mark.parametrize(
    ("query", "headers", "status"),
    [
        ("", {"Authorization": "Bearer jq_wrong"}, 401),
        ("", {"Authorization": ""}, 401),
        ("experiment=nobody-aaaaaa", {}, 404),
        ("experiment=A%20B", {}, 422),
        ("everything=1", {}, 422),
    ],
)
def test_there_is_no_stream_of_what_one_may_not_see(
    manager: Manager, query: str, headers: dict[str, str], status: int
) -> None:
    response = manager.http.get(f"{manager.url}/api/v1/events?{query}", headers=headers, timeout=10)
    assert (response.status_code, response.headers["Content-Type"]) == (status, "application/problem+json")


def test_a_token_that_is_removed_ends_its_streams(
    manager: Manager, listen: Callable[..., Listener], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(broadcast, "BEAT_SECONDS", 0.05)
    made = manager.api.make_token("alice", "viewer")
    events = listen(manager, token=made["token"])
    events.next()
    manager.http.delete(f"{manager.url}/api/v1/tokens/{made['id']}", timeout=10)
    assert events.next() == ("", None)


def test_a_session_that_is_ended_ends_its_streams_and_no_others(
    manager: Manager, listen: Callable[..., Listener], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(broadcast, "BEAT_SECONDS", 0.05)
    token = manager.api.make_token("alice", "viewer")["token"]
    url = f"{manager.url}/api/v1/session"
    sessions = [requests.post(url, json={"token": token}, timeout=10).headers["Set-Cookie"] for _ in range(2)]
    ended, other = (session.partition(";")[0] for session in sessions)
    events, others = listen(manager, cookie=ended), listen(manager, cookie=other)
    assert events.next()[0] == others.next()[0] == "experiments"
    assert requests.delete(url, headers={"Cookie": ended}, timeout=10).status_code == 204
    assert events.next() == ("", None)
    manager.submit_jobs(1)
    assert others.next()[1]["total"] == 1


class Source:
    """Of what messages are made; counts how often."""

    def __init__(self) -> None:
        self.made = 0
        self.data: dict[str, str | Exception] = {"a": "1"}
        self.stopping = threading.Event()
        self.broadcaster = Broadcaster(self.make, self.stopping)

    def make(self, name: str) -> Message:
        self.made += 1
        found = self.data.get(name, NotFoundError(name))
        if isinstance(found, Exception):
            raise found
        return Message("m", found, found)

    def listen(self, name: str = "a") -> Iterator[bytes]:
        return self.broadcaster.listen(name, lambda: True)


def broadcasting() -> bool:
    return any(thread.name == "broadcast" for thread in threading.enumerate())


@pytest.fixture
def source(eventually: Wait, monkeypatch: pytest.MonkeyPatch) -> Iterator[Source]:
    monkeypatch.setattr(broadcast, "PERIOD_SECONDS", 0.01)
    source = Source()
    yield source
    source.stopping.set()
    eventually(lambda: not broadcasting())


def test_a_message_is_made_once_however_many_listen(source: Source, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(broadcast, "PERIOD_SECONDS", 3600.0)
    streams = [source.listen() for _ in range(20)]
    assert {tuple(islice(stream, 2)) for stream in streams} == {(b"retry: 2000\n\n", b"event: m\ndata: 1\n\n")}
    assert source.made == 1


def test_what_is_as_before_is_not_told_again(source: Source, eventually: Wait) -> None:
    stream = source.listen()
    assert list(islice(stream, 2))[1] == b"event: m\ndata: 1\n\n"
    eventually(lambda: source.made > 3)
    source.data["a"] = "2"
    assert next(stream) == b"event: m\ndata: 2\n\n"


def test_nothing_is_made_for_nobody(source: Source, eventually: Wait) -> None:
    stream = source.listen()
    next(stream)
    stream.close()  # type: ignore[attr-defined] # it is a generator
    eventually(lambda: not broadcasting())
    assert list(islice(source.listen(), 2))[1] == b"event: m\ndata: 1\n\n", "and for the next one again"


def test_while_there_is_nothing_new_a_beat_is_heard(source: Source, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(broadcast, "BEAT_SECONDS", 0.02)
    assert list(islice(source.listen(), 4))[2:] == [b":\n\n"] * 2


@pytest.mark.parametrize("trouble", [StoreUnavailableError("away"), RuntimeError("broken")])
def test_trouble_with_one_topic_ends_no_stream(
    source: Source, trouble: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(broadcast, "_AFTER_FAILURE_SECONDS", 0.01)
    stream = source.listen()
    assert list(islice(stream, 2))[1] == b"event: m\ndata: 1\n\n"
    source.data |= {"a": trouble, "b": "x"}
    assert list(islice(source.listen("b"), 2))[1] == b"event: m\ndata: x\n\n"
    source.data["a"] = "2"
    assert next(stream) == b"event: m\ndata: 2\n\n"


def test_who_listens_is_let_go_when_the_process_ends(source: Source) -> None:
    stream = source.listen()
    list(islice(stream, 2))
    source.stopping.set()
    assert list(stream) == []
    assert list(source.listen()) == [b"retry: 2000\n\n"], "nor does anybody begin"


@pytest.fixture
def process(client: StoreClient, valkey: ValkeyServer, state_dir: Path, eventually: Wait) -> Iterator[OwnManager]:
    settings = {"store_url": valkey.store_url, "broker_url": valkey.broker_url, "max_open_requests": "16"}
    with own_manager(state_dir, eventually, **settings) as started:
        eventually(lambda: requests.get(f"{started.url}/readyz", timeout=60).ok, 30)
        yield started


def test_streams_keep_nobody_else_waiting_and_are_limited(process: OwnManager) -> None:
    """Nor does a manager that is told to stop wait for those who listen."""
    url = f"{process.url}/api/v1/events"
    with ExitStack() as stack:
        listeners = [
            Listener(stack.enter_context(requests.get(url, stream=True, timeout=60))) for _ in range(MOST_STREAMS)
        ]
        assert {listener.next()[0] for listener in listeners} == {"experiments"}
        refused = requests.get(url, timeout=60)
        assert (refused.status_code, refused.json()["type"]) == (503, "urn:jqueuer:problem:busy")
        assert f"{MOST_STREAMS} event streams are open" in refused.json()["detail"]
        assert requests.get(f"{process.url}/api/v1/experiments", timeout=60).status_code == 200
        process.process.terminate()
        assert {listener.next() for listener in listeners} == {("", None)}
        assert process.process.wait(60) == 0
