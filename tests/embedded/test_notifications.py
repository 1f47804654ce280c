"""The running system tells a real receiver how experiments end and that deadlines are at risk, whatever dies."""

from __future__ import annotations

import os
import signal
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from jqueuer.client import ClientError
from jqueuer.controller import Forecast, Observation
from jqueuer.model import Experiment, Notify
from jqueuer.records import Counts, ExperimentRecord
from jqueuer.states import ExperimentState
from jqueuer_manager.notices import Notices
from jqueuer_manager.services import Services
from tests.embedded.api_manager import Manager
from tests.embedded.running import System
from tests.embedded.webhook_receiver import Received, WebhookReceiver, hanging, status, webhook_receiver
from tests.ports import free_port

Eventually = Callable[..., None]


@pytest.fixture
def receiver() -> Iterator[WebhookReceiver]:
    with webhook_receiver() as receiver:
        yield receiver


def secret(system: System) -> str:
    return system.embedded.webhook_secret_file.read_text().strip()


def notices(system: System, experiment_id: str) -> list[str]:
    return [entry["reason"] for entry in system.api.journal(experiment_id) if entry["action"] == "notify"]


def of(receiver: WebhookReceiver, experiment_id: str) -> list[Received]:
    return [one for one in receiver.received if one.told["data"]["id"] == experiment_id]


def test_an_end_is_told_once_signed_and_with_what_became_of_it(
    system: System, receiver: WebhookReceiver, eventually: Eventually
) -> None:
    ends = {"accomplished": "exit 0", "failed": "exit 3"}
    ids = {
        end: system.submit(f"""
            name: told
            deadline: 1h
            notify: {receiver.url}
            environment: {{SECRET: hunter2}}
            on_failure: cancel
            jobs: [{{id: a, command: ["true"]}}, {{id: b, command: {{shell: "{line}"}}}}]
            """)
        for end, line in ends.items()
    }
    for end, experiment_id in ids.items():
        eventually(lambda one=experiment_id: notices(system, one))
        (got,) = of(receiver, experiment_id)
        data: dict[str, Any] = got.told["data"]
        shown = system.api.experiment(experiment_id)
        assert got.is_genuine(secret(system))
        assert (got.type, data["state"]) == (f"experiment.{end}", end)
        assert got.told["timestamp"].endswith("Z")
        for key in ("id", "name", "owner", "reason", "created_at", "deadline_at", "finished_at", "jobs"):
            assert data[key] == shown[key], key
        assert (data["attempts"], data["forecast"]) == (2, None)
        assert b"hunter2" not in got.body
        assert notices(system, experiment_id) == [f"{receiver.origin} was told experiment.{end}"]


def test_who_wants_to_hear_of_failures_hears_of_nothing_else(
    system: System, receiver: WebhookReceiver, eventually: Eventually
) -> None:
    well = system.run(f"""
        notify: {{url: "{receiver.url}", on: [failed]}}
        jobs: [{{command: ["true"]}}]
        """)
    cancelled = system.submit(f"notify: {receiver.url}\njobs: [{{command: [sleep, '60']}}]")
    system.api.cancel(cancelled)
    failed = system.submit(f"""
        notify: {{url: "{receiver.url}", on: [failed]}}
        on_failure: cancel
        jobs: [{{command: ["false"]}}]
        """)
    eventually(lambda: notices(system, failed))
    assert receiver.types() == ["experiment.failed"]
    assert notices(system, well["experiment_id"]) == notices(system, cancelled) == []


def test_a_deadline_that_passes_is_told_once_and_then_the_end(
    system: System, receiver: WebhookReceiver, eventually: Eventually
) -> None:
    experiment_id = system.submit(f"""
        deadline: 1s
        notify: {receiver.url}
        jobs: [{{id: a, command: [sleep, "3"]}}]
        """)
    eventually(lambda: len(of(receiver, experiment_id)) == 2 and len(notices(system, experiment_id)) == 3)
    risk, end = of(receiver, experiment_id)
    assert (risk.type, end.type) == ("experiment.deadline_at_risk", "experiment.accomplished")
    assert all(one.is_genuine(secret(system)) for one in (risk, end))
    data = risk.told["data"]
    assert (data["state"], data["finished_at"], data["jobs"]["accomplished"]) == ("running", None, 0)
    assert data["reason"] == "the deadline has passed with 1 job left"
    assert data["forecast"]["finish_at"] > data["deadline_at"]
    assert notices(system, experiment_id)[0] == "deadline at risk: the deadline has passed with 1 job left"


def test_a_deadline_that_will_hardly_be_kept_is_told_while_it_is_far(
    system: System, receiver: WebhookReceiver, eventually: Eventually
) -> None:
    experiment_id = system.submit(f"""
        deadline: 1h
        notify: {{url: "{receiver.url}", on: [at-risk]}}
        estimate: 1h
        jobs: [{{command: [sleep, "600"]}}, {{command: [sleep, "600"]}}]
        """)
    eventually(lambda: len(notices(system, experiment_id)) == 2, 60)
    system.api.cancel(experiment_id)
    (risk,) = of(receiver, experiment_id)
    forecast = risk.told["data"]["forecast"]
    assert forecast["probability"] < 0.95
    assert risk.told["data"]["reason"].startswith("the deadline is kept with a probability of ")
    assert notices(system, experiment_id)[1] == f"{receiver.origin} was told experiment.deadline_at_risk"


def test_a_manager_that_is_killed_before_the_receiver_answers_tells_it_again_with_the_same_id(
    own_system: Callable[..., System], receiver: WebhookReceiver, eventually: Eventually
) -> None:
    let_go = threading.Event()
    receiver.answer = hanging(let_go)
    system = own_system()
    experiment_id = system.submit(f"notify: {receiver.url}\njobs: [{{command: ['true']}}]")
    eventually(lambda: receiver.received, 30)
    os.killpg(system.embedded.pids["jqueuer_manager"], signal.SIGKILL)
    receiver.answer = status(204)
    eventually(lambda: len(receiver.received) == 2, 60)
    let_go.set()
    first, second = receiver.received
    assert (first.id, first.body) == (second.id, second.body)
    eventually(lambda: notices(system, experiment_id))
    assert system.api.experiment(experiment_id)["state"] == "accomplished"


def test_what_nobody_took_before_everything_stopped_is_told_at_the_next_start_and_to_everybodys_receiver(
    own_system: Callable[..., System], eventually: Eventually
) -> None:
    """The end comes while both receivers are away; then all is killed, and they come."""
    ports = free_port(), free_port()
    settings = {"JQUEUER_WEBHOOK_URL": f"http://127.0.0.1:{ports[1]}/all"}
    system = own_system(**settings)
    own = f"http://127.0.0.1:{ports[0]}/own"
    experiment_id = system.submit(f"deadline: 1s\nnotify: {own}\njobs: [{{command: [sleep, '2']}}]")
    eventually(lambda: system.api.experiment(experiment_id)["state"] == "accomplished", 30)
    for pid in system.embedded.pids.values():
        os.killpg(os.getpgid(pid), signal.SIGKILL)
    system.embedded.stop(force=True)
    key = secret(system)
    with webhook_receiver(ports[0]) as mine, webhook_receiver(ports[1]) as everybodys:
        again = own_system(**settings)
        assert secret(again) == key
        eventually(lambda: len(mine.received) == len(everybodys.received) == 2, 60)
        eventually(lambda: sum("was told" in reason for reason in notices(again, experiment_id)) == 4, 30)
    for receiver in (mine, everybodys):
        told = Counter(receiver.types())
        assert told == {"experiment.deadline_at_risk": 1, "experiment.accomplished": 1}
        assert all(one.is_genuine(key) for one in receiver.received)


def test_a_risk_is_told_though_another_manager_told_the_one_before(services: Services) -> None:
    """One tells and dies; the other, which looked all the time, sees it safe and then at risk again."""
    store, outbox = services.experiments, services.outbox
    store.create(
        ExperimentRecord(
            id="sweep",
            description=Experiment(notify=Notify(url="https://hooks.example/")),
            state=ExperimentState.RECEIVING,
            created_at=store.now(),
            deadline_at=store.now() + 3600,
        )
    )
    store.accept("sweep")
    first, second = Notices(services, "sweep"), Notices(services, "sweep")

    def look(notices: Notices, probability: float) -> None:
        seen = Observation(now=store.now(), record=store.get("sweep"), counts=Counts(queued=5))
        forecast = Forecast(finish_at=1, p80_at=1, p95_at=1, probability=probability, containers=1, basis="")
        notices.saw(seen, lambda: forecast)

    for notices, probability in [(second, 0.99), *[(first, 0.5)] * 3, (second, 0.99), *[(second, 0.5)] * 4]:
        look(notices, probability)
    assert len([one for one in store.decisions("sweep") if "deadline at risk" in one.reason]) == 2
    (waiting,) = outbox.due(1e12, busy=(), limit=9)
    assert waiting.occasion == "at-risk"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("notify: https://hooks.example/x", "notify: this manager notifies nobody"),
        ("policy: {url: 'http://u:hunter2@policy.example/'}", "policy.url: a URL with a user or a password in it"),
    ],
)
def test_what_the_manager_would_not_request_is_refused_at_submission_and_in_quotes(
    manager: Manager, text: str, words: str
) -> None:
    description = f"{text}\ndeadline: 1h\njobs: [{{command: ['true']}}]".encode()
    for send in (manager.api.submit_bytes, manager.api.quote_bytes):
        with pytest.raises(ClientError, match=words) as refused:
            send(description)
        assert "hunter2" not in str(refused.value)
    assert manager.nothing_remains()
