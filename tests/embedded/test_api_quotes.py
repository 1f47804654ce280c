"""Quotes over the API, and submissions that are taken only where they can be promised."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from cautoscaler import Durations
from jqueuer.client import ClientError
from jqueuer.model import Experiment
from jqueuer.quoting import Workload, quote
from jqueuer.records import JournalEntry
from jqueuer.states import ExperimentState
from tests.embedded.api_manager import Manager
from tests.embedded.running import System

JOBS = "\n".join(f"- {{id: j{number}, command: ['true']}}" for number in range(20))


def described(deadline: str = "1h", **keys: str) -> bytes:
    """20 jobs of about a minute on at most four containers."""
    lines = {"name": "sweep", "estimate": "1m", "containers": "{max: 4}", "deadline": deadline, **keys}
    return "\n".join([*(f"{key}: {value}" for key, value in lines.items()), f"jobs:\n{JOBS}\n"]).encode()


def streamed(**head: Any) -> Iterator[str]:
    yield json.dumps({"name": "lines", "estimate": "1m", "containers": {"max": 4}, **head})
    for number in range(20):
        yield json.dumps({"id": f"j{number}", "tasks": [{"command": ["true"]}]})


def refusal(manager: Manager, body: bytes, **options: Any) -> ClientError:
    with pytest.raises(ClientError) as caught:
        manager.api.submit_bytes(body, if_feasible=True, **options)
    return caught.value


def test_a_quote_says_what_is_promised_and_stores_nothing(manager: Manager) -> None:
    found = manager.api.quote_bytes(described())
    assert found["feasible"]
    assert (found["jobs"], found["deadline_seconds"], found["history_jobs"]) == (20, 3600.0, 0)
    assert [offer["containers"] for offer in found["curve"]] == [1, 2, 3, 4]
    assert found["containers"] in (1, 2, 3, 4)
    assert manager.nothing_remains()


@pytest.mark.parametrize("kind", ["yaml", "json", "2018-A", "lines"])
def test_whatever_can_be_submitted_can_be_quoted(manager: Manager, kind: str) -> None:
    if kind == "lines":
        found = manager.api.quote_stream(streamed(deadline="1h"))
    elif kind == "yaml":
        found = manager.api.quote_bytes(described())
    else:
        task = {"command": ["true"]} if kind == "json" else {"id": "t", "command": ["true"]}
        jobs = [{"id": f"j{number}", "tasks": [task]} for number in range(20)]
        native = {"estimate": "1m", "deadline": "1h", "containers": {"max": 4}}
        old = {
            "image_url": "busybox",
            "experiment_deadline": "1#h",
            "single_task_duration": "1#m",
            "replica_min": "1",
            "replica_max": "4",
        }
        document = {**(native if kind == "json" else old), "jobs": jobs}
        found = manager.api.quote_bytes(json.dumps(document).encode(), "application/json")
    assert (found["jobs"], found["deadline_seconds"], len(found["curve"])) == (20, 3600.0, 4)


def test_faults_are_those_of_a_submission(manager: Manager) -> None:
    for send in (manager.api.quote_bytes, manager.api.submit_bytes):
        with pytest.raises(ClientError) as caught:
            send(described(deadlin="1h"))
        assert (caught.value.status, caught.value.faults[0].path) == (422, "deadlin")
    with pytest.raises(ClientError) as caught:
        manager.api.quote_stream(["{}", '{"id": "x", "tasks": []}', "{not json"])
    assert {fault.line for fault in caught.value.faults} == {2, 3}
    with pytest.raises(ClientError) as caught:
        manager.api.quote_stream(["{}"])
    assert caught.value.faults[0].path == "jobs"
    response = manager.http.post(f"{manager.url}/api/v1/quotes", data=b"x", headers={"Content-Type": "a/b"}, timeout=10)
    assert response.status_code == 415


def test_what_this_manager_cannot_run_it_does_not_quote(manager: Manager) -> None:
    body = json.dumps({"container_name": "worker", "jobs": [{"id": "a", "tasks": [{"id": "t", "command": ["true"]}]}]})
    with pytest.raises(ClientError) as caught:
        manager.api.quote_bytes(body.encode(), "application/json")
    assert caught.value.kind == "unsupported"


def test_earlier_experiments_of_the_same_name_are_what_a_quote_rests_on(manager: Manager) -> None:
    """Their jobs took two seconds where the estimate says a minute, and their containers started within four."""
    earlier = manager.submit_jobs(20, "name: sweep")
    for number in range(20):
        manager.run(earlier, f"j{number}")
    told = JournalEntry(at=1.0, action="finish", inputs={"start_seconds": 4.0})
    manager.services.experiments.journal(earlier, told)
    manager.end(earlier, ExperimentState.ACCOMPLISHED)
    found = manager.api.quote_bytes(described())
    assert (found["history_jobs"], found["start_seconds"]) == (20, 4.0)
    assert "by 20 jobs of earlier experiments of its kind; containers start within 4 s, as measured" in found["basis"]
    other = manager.api.quote_bytes(described(name="other"))
    assert (other["history_jobs"], other["start_seconds"]) == (0, None)
    assert found["earliest_deadline_seconds"] < other["earliest_deadline_seconds"] / 5


def test_a_file_without_a_name_is_known_by_its_own(manager: Manager) -> None:
    earlier = manager.submit_jobs(5, "name: nightly")
    for number in range(5):
        manager.run(earlier, f"j{number}")
    manager.end(earlier, ExperimentState.ACCOMPLISHED)
    body = f"jobs:\n{JOBS}\n".encode()
    assert manager.api.quote_bytes(body, source="/home/me/nightly.yaml")["history_jobs"] == 5
    assert manager.api.quote_bytes(body)["history_jobs"] == 0


def test_the_managers_quote_is_that_of_the_pure_function(manager: Manager) -> None:
    found = manager.api.quote_bytes(described())
    description = Experiment.model_validate(
        {"name": "sweep", "estimate": "1m", "containers": {"max": 4}, "deadline": "1h"}
    )
    ours = quote(description, Workload(20), now=0.0, history=Durations())
    assert found["reason"] == ours.reason
    assert [offer["p95_seconds"] for offer in found["curve"]] == [offer.p95_seconds for offer in ours.curve]


def test_what_is_infeasible_is_refused_with_the_counter_offer_and_nothing_is_stored(manager: Manager) -> None:
    error = refusal(manager, described("1m"))
    quoted = error.problem["quote"]
    assert (error.status, error.kind) == (422, "infeasible")
    assert error.detail == f"not feasible: {quoted['reason']}"
    assert not quoted["feasible"]
    assert quoted["earliest_deadline_seconds"] > 60
    assert manager.nothing_remains()
    accepted = manager.api.submit_bytes(described(f"{quoted['earliest_deadline_seconds']:.0f}s"), if_feasible=True)
    assert accepted["jobs"] == 20


def test_jobs_that_came_line_by_line_are_refused_likewise(manager: Manager) -> None:
    with pytest.raises(ClientError) as caught:
        manager.api.submit_stream(streamed(deadline="1m"), if_feasible=True)
    assert caught.value.problem["quote"]["jobs"] == 20
    assert manager.nothing_remains()
    assert manager.api.submit_stream(streamed(deadline="10h"), if_feasible=True)["jobs"] == 20


def test_a_refused_key_is_free_again(manager: Manager) -> None:
    refusal(manager, described("1m"), idempotency_key="k")
    first = manager.api.submit_bytes(described("10h"), if_feasible=True, idempotency_key="k")
    again = manager.api.submit_bytes(described("10h"), if_feasible=True, idempotency_key="k")
    assert first["id"] == again["id"]


def test_without_the_question_anything_is_taken(manager: Manager) -> None:
    assert manager.api.submit_bytes(described("1m"))["jobs"] == 20


def test_problems_of_other_kinds_say_nothing_of_quotes(manager: Manager) -> None:
    assert "quote" not in manager.http.get(f"{manager.url}/nowhere", timeout=10).json()


def test_an_experiment_that_was_run_is_what_the_next_quote_rests_on(system: System) -> None:
    jobs = "jobs: [{id: a, command: [sleep, '0.5']}, {id: b, command: [sleep, '0.5']}]"
    text = f"name: quoted\nestimate: 1m\ndeadline: 10m\n{jobs}\n"
    before = system.api.quote_bytes(text.encode())
    assert system.run(text)["state"] == "accomplished"
    after = system.api.quote_bytes(text.encode())
    assert (before["history_jobs"], before["start_seconds"]) == (0, None)
    assert after["history_jobs"] == 2
    assert 0 <= after["start_seconds"] < 60
    assert after["earliest_deadline_seconds"] < before["earliest_deadline_seconds"]
