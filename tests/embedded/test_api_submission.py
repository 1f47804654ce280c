"""Submitting: what is accepted, what is refused, and that a refusal leaves nothing behind."""

from __future__ import annotations

import hashlib
import io
import json
import re
import socket
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import urlsplit

import pytest
from flask import Request
from werkzeug.exceptions import BadRequest
from werkzeug.test import EnvironBuilder

from jqueuer.client import ClientError
from jqueuer.model import Experiment
from jqueuer.records import ExperimentRecord
from jqueuer.states import ExperimentState
from jqueuer_manager.api.bodies import Body
from jqueuer_manager.receiver import Receiver
from tests.embedded.api_manager import ADMIN, LIMIT_BYTES, Manager

YAML = {"Content-Type": "application/yaml"}
NDJSON = {"Content-Type": "application/x-ndjson"}
ONE_JOB = b"name: One Job\njobs:\n- {id: a, tasks: [{command: ['true']}]}\n"


def lines(count: int, **head: object) -> Iterator[str]:
    yield json.dumps({"name": "lines", **head})
    for number in range(count):
        yield json.dumps({"id": f"j{number}", "tasks": [{"command": ["true"]}]})


def refusal(call: Callable[[], object]) -> ClientError:
    with pytest.raises(ClientError) as caught:
        call()
    return caught.value


def test_a_description_becomes_a_running_experiment(manager: Manager) -> None:
    response = manager.http.post(f"{manager.url}/api/v1/experiments", data=ONE_JOB, headers=YAML, timeout=10)
    body = response.json()
    assert response.status_code == 201
    assert response.headers["Location"] == body["links"]["self"] == f"/api/v1/experiments/{body['id']}"
    assert re.fullmatch(r"one-job-[a-z2-7]{6}", body["id"])
    assert (body["state"], body["jobs"]) == ("running", 1)
    assert manager.services.experiments.active() == [body["id"]]


def test_json_is_a_description_too(manager: Manager) -> None:
    body = json.dumps({"jobs": [{"id": "a", "tasks": [{"command": ["true"]}]}]}).encode()
    assert manager.api.submit_bytes(body, "application/json")["jobs"] == 1


def test_jobs_are_streamed_line_by_line_in_order(manager: Manager) -> None:
    """More jobs than one batch, without an announced length."""
    submitted = manager.api.submit_stream(lines(2500))
    assert submitted["jobs"] == 2500
    assert manager.services.ledger.ids(submitted["id"], 2498, 10) == ["j2498", "j2499"]


def test_notices_of_the_orchestrator_reach_the_user(manager: Manager) -> None:
    submitted = manager.api.submit_bytes(b"image: alpine:3\n" + ONE_JOB)
    assert any("alpine:3" in notice for notice in submitted["notices"])
    assert manager.api.experiment(submitted["id"])["notices"] == submitted["notices"]


def test_what_the_orchestrator_cannot_do_is_refused_with_the_reason(manager: Manager) -> None:
    body = json.dumps({"container_name": "worker", "jobs": [{"id": "a", "tasks": [{"id": "t", "command": ["true"]}]}]})
    error = refusal(lambda: manager.api.submit_bytes(body.encode(), "application/json"))
    assert error.status == 422
    assert "worker" in error.detail
    assert manager.nothing_remains()


def test_source_and_digest_are_kept_for_resuming(manager: Manager) -> None:
    submitted = manager.api.submit_bytes(ONE_JOB, source="/home/me/sweep.yaml", source_digest="abc")
    experiment = manager.api.experiment(submitted["id"])
    assert (experiment["source"], experiment["source_digest"]) == ("/home/me/sweep.yaml", "abc")


@pytest.mark.parametrize("deadline", ["2020-01-01T00:00:00Z", "2020-01-01T00:00:00+02:00"])
def test_a_deadline_in_the_past_is_a_fault(manager: Manager, deadline: str) -> None:
    error = refusal(lambda: manager.submit(f"deadline: '{deadline}'\n{ONE_JOB.decode()}"))
    assert (error.status, error.faults[0].path) == (422, "deadline")
    assert manager.nothing_remains()


def test_a_relative_deadline_counts_from_the_receipt(manager: Manager) -> None:
    experiment = manager.api.experiment(manager.submit(f"deadline: 90m\n{ONE_JOB.decode()}"))
    assert experiment["deadline_at"] == pytest.approx(experiment["created_at"] + 5400)
    assert 0 < experiment["seconds_left"] <= 5400


def test_every_bad_line_of_a_stream_is_named_and_nothing_is_kept(manager: Manager) -> None:
    """Batches that were stored before the first bad line go again."""
    stream = [*lines(2100)]
    stream[1500] = '{"id": "x", "tasks": []}'
    stream[2050] = "{not json"
    error = refusal(lambda: manager.api.submit_stream(stream))
    assert error.status == 422
    assert {fault.line for fault in error.faults} == {1501, 2051}
    assert manager.nothing_remains()


def test_a_duplicate_id_far_down_the_stream_is_named_with_its_line(manager: Manager) -> None:
    stream = [*lines(1500)]
    stream[1400] = stream[3]
    error = refusal(lambda: manager.api.submit_stream(stream))
    assert (error.status, error.faults[0].line) == (422, 1401)
    assert "'j2'" in error.faults[0].message
    assert manager.nothing_remains()


def test_a_duplicate_id_within_a_batch_is_named_with_its_line(manager: Manager) -> None:
    error = refusal(lambda: manager.api.submit_stream([*lines(3), *list(lines(1))[1:]]))
    assert (error.status, error.faults[0].line) == (422, 5)
    assert manager.nothing_remains()


@pytest.mark.parametrize("stream", [[], ["{}"], ["", "  "], ["[1]"], ["\xff"]])
def test_a_stream_without_jobs_or_header_is_refused(manager: Manager, stream: list[str]) -> None:
    error = refusal(lambda: manager.api.submit_stream(line.encode("latin-1") for line in stream))
    assert error.status == 422
    assert error.faults
    assert manager.nothing_remains()


def test_more_jobs_than_allowed_are_refused(manager: Manager) -> None:
    error = refusal(lambda: manager.api.submit_stream(lines(5001)))
    assert error.status == 422
    assert "5000" in error.detail
    assert manager.nothing_remains()


def test_a_body_that_announces_more_than_the_limit_is_refused(manager: Manager) -> None:
    """The client has sent all of it before it reads the answer, and still gets the answer."""
    error = refusal(lambda: manager.api.submit_bytes(b"#" * 50_000_000))
    assert error.status == 413
    assert "2000000" in error.detail.replace("B", "").replace(" ", "")
    assert manager.nothing_remains()


def test_a_stream_that_grows_beyond_the_limit_is_refused(manager: Manager) -> None:
    """Its length is not announced: it is counted, and the jobs stored so far are deleted."""

    def endless() -> Iterator[str]:
        yield from lines(1200)
        for number in range(3 * LIMIT_BYTES // 1000):
            yield json.dumps({"id": f"x{number}", "tasks": [{"command": ["echo", "." * 1000]}]})

    assert refusal(lambda: manager.api.submit_stream(endless())).status == 413
    assert manager.nothing_remains()


@pytest.mark.parametrize("announced", [True, False])
def test_a_connection_that_breaks_off_leaves_nothing(
    manager: Manager, announced: bool, eventually: Callable[[Callable[[], object], float], None]
) -> None:
    body = "\n".join(lines(1500)).encode()
    length = f"Content-Length: {len(body) + 100}" if announced else "Transfer-Encoding: chunked"
    head = f"POST /api/v1/experiments HTTP/1.1\r\nHost: m\r\nAuthorization: Bearer {ADMIN}\r\n"
    head += f"Content-Type: application/x-ndjson\r\n{length}\r\n\r\n"
    with socket.create_connection((urlsplit(manager.url).hostname, urlsplit(manager.url).port)) as connection:
        connection.sendall(head.encode())
        connection.sendall(body if announced else b"%x\r\n%s\r\n" % (len(body), body))
        eventually(manager.services.experiments.unfinished_receipts, 10)
    eventually(manager.nothing_remains, 10)


def test_half_a_body_never_passes_for_the_whole() -> None:
    """Also where the HTTP server reports the end of the connection as the end of the body."""
    environ = EnvironBuilder(method="POST", input_stream=io.BytesIO(b"{}\n")).get_environ()
    body = Body(Request({**environ, "CONTENT_LENGTH": "100", "wsgi.input_terminated": True}), 1000)
    with pytest.raises(BadRequest, match="3 of 100 bytes"):
        body.buffered().read()


@pytest.mark.parametrize("content_type", ["text/plain", "application/xml", "multipart/form-data", ""])
def test_other_media_types_are_refused(manager: Manager, content_type: str) -> None:
    error = refusal(lambda: manager.api.submit_bytes(ONE_JOB, content_type))
    assert error.status == 415
    assert "application/yaml" in error.detail


def test_the_same_key_and_body_make_one_experiment(manager: Manager) -> None:
    first = manager.api.submit_bytes(ONE_JOB, idempotency_key="k")
    again = manager.api.submit_bytes(ONE_JOB, idempotency_key="k")
    assert again == first
    assert len(list(manager.api.experiments())) == 1


def test_the_same_key_and_stream_make_one_experiment(manager: Manager) -> None:
    first = manager.api.submit_stream(lines(3), idempotency_key="k")
    again = manager.api.submit_stream(lines(3), idempotency_key="k")
    assert again == first
    assert len(list(manager.api.experiments())) == 1
    assert not manager.services.experiments.unfinished_receipts()


def test_a_replay_is_answered_even_when_its_deadline_has_passed_since(manager: Manager) -> None:
    body = b"deadline: '2020-01-01T00:00:00Z'\n" + ONE_JOB
    earlier = manager.submit_jobs(1)
    manager.services.experiments.remember_key("admin k", hashlib.sha256(body).hexdigest(), earlier)
    assert manager.api.submit_bytes(body, idempotency_key="k")["id"] == earlier


def test_the_same_key_with_another_body_is_a_conflict(manager: Manager) -> None:
    manager.api.submit_bytes(ONE_JOB, idempotency_key="k")
    assert refusal(lambda: manager.api.submit_bytes(ONE_JOB + b"\n", idempotency_key="k")).status == 409
    assert refusal(lambda: manager.api.submit_stream(lines(2), idempotency_key="k")).status == 409
    assert len(list(manager.api.experiments())) == 1


def test_a_key_is_free_again_after_a_refusal(manager: Manager) -> None:
    refusal(lambda: manager.api.submit_bytes(b"deadline: 2020-01-01T00:00:00Z\n" + ONE_JOB, idempotency_key="k"))
    assert manager.api.submit_bytes(ONE_JOB, idempotency_key="k")["jobs"] == 1


def test_a_key_whose_experiment_was_deleted_makes_a_new_one(manager: Manager) -> None:
    first = manager.api.submit_bytes(ONE_JOB, idempotency_key="k")["id"]
    manager.end(first, ExperimentState.ACCOMPLISHED)
    manager.api.delete(first)
    assert manager.api.submit_bytes(ONE_JOB, idempotency_key="k")["id"] != first


def test_requests_with_one_key_at_the_same_time_make_one_experiment(manager: Manager) -> None:
    def submit(_: int) -> str | None:
        query = {"data": "\n".join(lines(50)), "headers": {**NDJSON, "Idempotency-Key": "k"}, "timeout": 30}
        response = manager.http.post(f"{manager.url}/api/v1/experiments", **query)
        assert response.status_code in {201, 409}
        return str(response.json()["id"]) if response.status_code == 201 else None

    with ThreadPoolExecutor(8) as threads:
        ids = {found for found in threads.map(submit, range(8)) if found}
    assert len(ids) == 1
    assert [one["id"] for one in manager.api.experiments()] == list(ids)
    assert not manager.services.experiments.unfinished_receipts()


def test_a_malformed_key_is_refused(manager: Manager) -> None:
    error = refusal(lambda: manager.api.submit_bytes(ONE_JOB, idempotency_key="k" * 300))
    assert (error.status, error.faults[0].path) == (422, "Idempotency-Key")


def test_a_half_received_experiment_is_unseen_and_purged_at_the_next_start(manager: Manager) -> None:
    store = manager.services.experiments
    half = ExperimentRecord(
        id="half-aaaaaa", description=Experiment(), state=ExperimentState.RECEIVING, created_at=store.now()
    )
    store.create(half)
    assert refusal(lambda: manager.api.experiment(half.id)).status == 404
    assert list(manager.api.experiments()) == []
    assert Receiver(manager.services).purge() == [half.id]
    assert manager.nothing_remains()
