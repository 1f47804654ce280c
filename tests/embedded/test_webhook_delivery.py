"""How the manager delivers webhooks: over a real store to real receivers, however these behave."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from http.server import BaseHTTPRequestHandler
from itertools import count
from pathlib import Path

import pytest
from pydantic import SecretStr
from structlog.testing import capture_logs

from jqueuer.adapters.redis_store.connection import StoreClient
from jqueuer.model import Experiment, Notify
from jqueuer.notifying import new_message, new_secret
from jqueuer.records import ExperimentRecord
from jqueuer.states import ExperimentState
from jqueuer_manager.delivery import Delivery
from jqueuer_manager.services import Services
from tests.certificates import Authority
from tests.contract.test_outbox import ALWAYS, FACTS
from tests.embedded.webhook_receiver import (
    WebhookReceiver,
    documented_check,
    hanging,
    status,
    webhook_receiver,
)
from tests.ports import free_port

Eventually = Callable[..., None]
SECRET = new_secret()
_NUMBERS = count(1)


@pytest.fixture
def receiver() -> Iterator[WebhookReceiver]:
    with webhook_receiver() as receiver:
        yield receiver


@pytest.fixture
def telling(services: Services) -> Services:
    """With something to sign with, and short pauses between two looks."""
    known = {"webhook_secret": SecretStr(SECRET), "control_seconds": 0.02}
    return replace(services, settings=services.settings.model_copy(update=known), stopping=threading.Event())


@contextmanager
def delivering(services: Services, *, try_seconds: float = 10.0) -> Iterator[Delivery]:
    delivery = Delivery(services, try_seconds=try_seconds)
    delivery.start()
    try:
        yield delivery
    finally:
        delivery.stop()


def failed(services: Services, *urls: str) -> str:
    """An experiment that has failed, of which these receivers are to be told."""
    experiment_id, store = f"e-{next(_NUMBERS)}", services.experiments
    record = ExperimentRecord(
        id=experiment_id,
        description=Experiment(notify=Notify(url=urls[0])) if urls[0] else Experiment(),
        state=ExperimentState.RECEIVING,
        created_at=store.now(),
    )
    store.create(record)
    store.accept(experiment_id)
    facts = FACTS.model_copy(update={"id": experiment_id, "state": ExperimentState.FAILED})
    messages = [new_message(experiment_id, "failed", url, facts) for url in urls]
    assert store.move(experiment_id, [ExperimentState.RUNNING], ExperimentState.FAILED, messages=messages)
    return experiment_id


def said(services: Services, experiment_id: str) -> list[str]:
    return [entry.reason for entry in services.experiments.decisions(experiment_id) if entry.action == "notify"]


def outcomes(services: Services) -> dict[str, int]:
    return dict(services.outbox.outcomes())


def test_it_is_signed_and_told_once(telling: Services, receiver: WebhookReceiver, eventually: Eventually) -> None:
    experiment_id = failed(telling, receiver.url)
    with delivering(telling), capture_logs() as logged:
        eventually(lambda: said(telling, experiment_id))
    (got,) = receiver.received
    record = telling.experiments.get(experiment_id)
    assert (got.path, got.type, got.told["data"]["id"]) == (
        "/hook/t0ken?key=hush",
        "experiment.failed",
        experiment_id,
    )
    assert got.told["data"]["finished_at"] == record.finished_at
    assert got.headers["content-type"] == "application/json"
    assert got.is_genuine(SECRET)
    assert not got.is_genuine(new_secret())
    assert said(telling, experiment_id) == [f"{receiver.origin} was told experiment.failed"]
    assert outcomes(telling) == {"delivered": 1}
    words = f"{said(telling, experiment_id)}{logged}"
    assert "webhook delivered" in words
    assert not [secret for secret in ("t0ken", "hush", SECRET, SECRET[6:]) if secret in words]


def test_a_receiver_that_comes_later_gets_the_same_message(telling: Services, eventually: Eventually) -> None:
    port = free_port()
    experiment_id = failed(telling, f"http://127.0.0.1:{port}/")
    with delivering(telling):
        eventually(lambda: said(telling, experiment_id))
        with webhook_receiver(port) as receiver:
            receiver.answer = status(500)
            eventually(lambda: outcomes(telling)["failed"] >= 2, 30)
            receiver.answer = status(200)
            eventually(lambda: outcomes(telling).get("delivered"), 30)
    first, second = receiver.received
    assert (first.id, first.body) == (second.id, second.body)
    assert first.headers["webhook-timestamp"] < second.headers["webhook-timestamp"]
    assert second.is_genuine(SECRET)
    missed, reached = said(telling, experiment_id)
    problem = "it did not answer: ConnectionError; tried again for a day"
    assert missed == f"{receiver.origin} could not be told experiment.failed: {problem}"
    assert reached == f"{receiver.origin} was told experiment.failed at the 3rd try"


def test_who_hangs_holds_up_nobody_else_and_is_left_in_time(
    telling: Services, receiver: WebhookReceiver, eventually: Eventually
) -> None:
    """Nor does one that sends its answer a byte at a time: the limit is for all of it."""
    let_go = threading.Event()

    def drip(handler: BaseHTTPRequestHandler) -> None:
        handler.wfile.write(b"HTTP/1.1 200 OK\r\nX: ")
        while not let_go.wait(0.05):
            handler.wfile.write(b"x")

    with webhook_receiver() as silent, webhook_receiver() as dripping:
        silent.answer, dripping.answer = hanging(let_go), drip
        hung = [failed(telling, one.url) for one in (silent, dripping) for _ in range(3)]
        told = [failed(telling, receiver.url) for _ in range(5)]
        with delivering(telling, try_seconds=2.0):
            eventually(lambda: len(receiver.received) == 5)
            assert [said(telling, one) for one in hung] == [[]] * 6, "they were told while the others hung"
            assert (len(silent.received), len(dripping.received)) == (1, 1), "one at a time to each"
            eventually(lambda: said(telling, hung[0]) and said(telling, hung[3]))
        let_go.set()
    assert all(said(telling, one) for one in told)
    for one in (hung[0], hung[3]):
        assert "no answer within 2 s" in said(telling, one)[0]


def test_an_answer_is_not_read_however_long_it_is(
    telling: Services, receiver: WebhookReceiver, eventually: Eventually
) -> None:
    let_go = threading.Event()

    def endless(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        handler.send_header("Content-Length", str(10**12))
        handler.end_headers()
        while not let_go.is_set():
            handler.wfile.write(b"tell nobody " * 10_000)

    receiver.answer = endless
    experiment_id = failed(telling, receiver.url)
    with delivering(telling):
        eventually(lambda: said(telling, experiment_id))
    let_go.set()
    assert outcomes(telling) == {"delivered": 1}


def test_a_redirect_is_not_followed(telling: Services, receiver: WebhookReceiver, eventually: Eventually) -> None:
    with webhook_receiver() as inner:
        receiver.answer = status(302, Location=inner.url)
        experiment_id = failed(telling, receiver.url)
        with delivering(telling):
            eventually(lambda: said(telling, experiment_id))
        assert inner.received == []
    assert "it answered with status 302, and redirects are not followed" in said(telling, experiment_id)[0]
    assert outcomes(telling) == {"failed": 1}


def test_while_nothing_can_be_stored_nobody_is_told_again(
    telling: Services, receiver: WebhookReceiver, client: StoreClient, eventually: Eventually
) -> None:
    experiment_id = failed(telling, receiver.url)
    client.config_set("min-replicas-to-write", 1)  # it answers, and takes nothing
    try:
        with delivering(telling), capture_logs() as logged:
            eventually(lambda: sum("could not be stored" in entry["event"] for entry in logged) == 2, 30)
            client.config_set("min-replicas-to-write", 0)
            eventually(lambda: said(telling, experiment_id), 30)
    finally:
        client.config_set("min-replicas-to-write", 0)
    assert len(receiver.received) == 1
    assert outcomes(telling) == {"delivered": 1}
    assert said(telling, experiment_id) == [f"{receiver.origin} was told experiment.failed"]


def test_a_receiver_is_told_later_where_no_thread_is_to_be_had(
    telling: Services, receiver: WebhookReceiver, eventually: Eventually
) -> None:
    with delivering(telling), capture_logs() as logged:
        threading.stack_size(2**60)  # nobody has so much
        try:
            experiment_id = failed(telling, receiver.url)
            eventually(lambda: any("the look at the outbox failed" in entry["event"] for entry in logged))
        finally:
            threading.stack_size(0)
        eventually(lambda: said(telling, experiment_id))
    assert len(receiver.received) == 1


def test_one_that_is_gone_is_not_tried_again(
    telling: Services, receiver: WebhookReceiver, eventually: Eventually
) -> None:
    receiver.answer = status(410)
    experiment_id = failed(telling, receiver.url)
    with delivering(telling):
        eventually(lambda: outcomes(telling))
    assert outcomes(telling) == {"given-up": 1}
    assert said(telling, experiment_id) == [
        f"{receiver.origin} is not told experiment.failed, given up after 1 try: it answered with status 410, gone"
    ]
    assert telling.outbox.due(ALWAYS, busy=(), limit=9) == []


def test_after_a_day_it_is_given_up_and_the_journal_says_how_often_and_why(
    telling: Services, receiver: WebhookReceiver, client: StoreClient, eventually: Eventually
) -> None:
    receiver.answer = status(503)
    experiment_id = failed(telling, receiver.url)
    (message,) = telling.outbox.due(ALWAYS, busy=(), limit=9)
    telling.outbox.postpone(message.model_copy(update={"tries": 32}), message.at)
    day = telling.experiments.now() - 86_400
    key = f"jq:x:{experiment_id}:outbox"
    client.hset(key, message.id, client.hget(key, message.id).replace(str(message.at), str(day), 1))
    with delivering(telling):
        eventually(lambda: said(telling, experiment_id))
    (reason,) = said(telling, experiment_id)
    assert reason.startswith(f"{receiver.origin} is not told experiment.failed, given up after ")
    assert re.search(r" after 34 tries in 1d.*: it answered with status 503$", reason)
    assert outcomes(telling)["given-up"] == 1


def test_the_settings_receiver_is_told_beside_the_experiments_own(
    telling: Services, receiver: WebhookReceiver, eventually: Eventually
) -> None:
    with webhook_receiver() as everybodys:
        known = telling.settings.model_copy(update={"webhook_url": SecretStr(everybodys.url)})
        experiment_id = failed(telling, receiver.url, "")
        with delivering(replace(telling, settings=known)):
            eventually(lambda: len(said(telling, experiment_id)) == 2)
        assert [one.told for one in everybodys.received] == [one.told for one in receiver.received]
        assert everybodys.received[0].id != receiver.received[0].id
        told = sorted(f"{one.origin} was told experiment.failed" for one in (receiver, everybodys))
        assert sorted(said(telling, experiment_id)) == told


def test_a_receiver_is_known_by_its_certificate(telling: Services, tmp_path: Path, eventually: Eventually) -> None:
    """By an authority of one's own where the settings name it, and else not at all."""
    authority = Authority(tmp_path / "authority")
    known = telling.settings.model_copy(update={"ca_file": authority.file})
    with webhook_receiver(certificate=authority.certificate("IP:127.0.0.1")) as secure:
        unknown = failed(telling, secure.url)
        with delivering(telling):
            eventually(lambda: said(telling, unknown))
        assert (
            "it did not answer with a certificate that is trusted here for this name (JQUEUER_CA_FILE)"
            in said(telling, unknown)[0]
        )
        assert secure.received == []
        trusted = failed(telling, secure.url)
        with delivering(replace(telling, settings=known)):
            eventually(lambda: said(telling, trusted))
        assert said(telling, trusted) == [f"{secure.origin} was told experiment.failed"]
    with webhook_receiver(certificate=authority.certificate("DNS:hooks.example")) as other:
        mistaken = failed(telling, other.url)
        with delivering(replace(telling, settings=known)):
            eventually(lambda: said(telling, mistaken))
        assert "for this name" in said(telling, mistaken)[0]


@pytest.mark.parametrize(
    ("url", "change", "problem"),
    [
        (
            "",
            {},
            "the receiver of JQUEUER_WEBHOOK_URL is not told experiment.failed, given up after 1 try: "
            "there is none any more",
        ),
        (
            "http://127.0.0.1:1/",
            {"allowed_urls": ("https://hooks.example/*",)},
            "http://127.0.0.1:1 is not told experiment.failed, given up after 1 try: "
            "JQUEUER_ALLOWED_URLS does not allow it any more",
        ),
        (
            "http://127.0.0.1:1/",
            {"webhook_secret": SecretStr("")},
            "http://127.0.0.1:1 could not be told experiment.failed: "
            "JQUEUER_WEBHOOK_SECRET is not set, and nothing is sent unsigned; tried again for a day",
        ),
    ],
)
def test_settings_that_changed_since_hold_for_what_waits(
    telling: Services, url: str, change: dict[str, object], problem: str, eventually: Eventually
) -> None:
    experiment_id = failed(telling, url)
    with delivering(replace(telling, settings=telling.settings.model_copy(update=change))):
        eventually(lambda: said(telling, experiment_id))
    assert said(telling, experiment_id) == [problem]


def test_nothing_is_sent_while_the_manager_stops(
    telling: Services, receiver: WebhookReceiver, eventually: Eventually
) -> None:
    telling.stopping.set()
    failed(telling, receiver.url)
    with delivering(telling) as delivery:
        delivery.stop()
    assert receiver.received == []
    telling.stopping.clear()
    with delivering(telling):
        eventually(lambda: receiver.received)


def test_whoever_hangs_does_not_hold_up_the_end(
    telling: Services, receiver: WebhookReceiver, eventually: Eventually
) -> None:
    """It is told at the next start."""
    let_go = threading.Event()
    receiver.answer = hanging(let_go)
    experiment_id = failed(telling, receiver.url)
    with delivering(telling, try_seconds=60.0):
        eventually(lambda: receiver.received)
    assert said(telling, experiment_id) == [], "it hangs still"
    receiver.answer = status(204)
    with delivering(telling):
        eventually(lambda: said(telling, experiment_id))
    let_go.set()
    assert {one.id for one in receiver.received} == {receiver.received[0].id}
    assert documented_check()(SECRET, receiver.received[-1].headers, receiver.received[-1].body)
