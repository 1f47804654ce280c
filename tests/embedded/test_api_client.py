"""The client against a manager that is away, comes back, or hides behind a proxy."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from werkzeug import Request, Response
from werkzeug.serving import make_server

from jqueuer.client import Client, ClientError


@contextmanager
def answering(answers: Callable[[Request], Response], token: str | None = None) -> Iterator[Client]:
    """A client of a server that answers as it is told."""
    server = make_server("127.0.0.1", 0, Request.application(answers))
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        with Client(f"http://127.0.0.1:{server.server_port}", token=token) as client:
            yield client
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


class Recovering:
    """503 for a while, then an answer; remembers what it was asked."""

    def __init__(self, refusals: int, answer: dict[str, Any]) -> None:
        self.seen: list[Request] = []
        self._refusals = refusals
        self._answer = answer

    def __call__(self, request: Request) -> Response:
        request.get_data()
        self.seen.append(request)
        if len(self.seen) <= self._refusals:
            return Response('{"detail": "the store does not answer", "faults": []}', 503)
        return Response(json.dumps(self._answer), 200, content_type="application/json")


def test_what_is_safe_to_repeat_is_repeated_until_the_manager_is_back() -> None:
    manager = Recovering(2, {"id": "x"})
    with answering(manager) as client:
        assert client.experiment("x") == {"id": "x"}
    assert len(manager.seen) == 3


def test_a_repeated_submission_carries_the_same_key() -> None:
    """So that the manager can tell a repetition from a second experiment."""
    manager = Recovering(2, {"id": "x"})
    with answering(manager) as client:
        client.submit_bytes(b"jobs: []")
    keys = {request.headers["Idempotency-Key"] for request in manager.seen}
    assert (len(manager.seen), len(keys)) == (3, 1)


@pytest.mark.parametrize("call", [lambda client: client.submit_stream(["{}"]), lambda client: client.retry("x")])
def test_what_is_not_safe_to_repeat_is_sent_once(call: Callable[[Client], object]) -> None:
    manager = Recovering(1, {"id": "x"})
    with answering(manager) as client, pytest.raises(ClientError) as caught:
        call(client)
    assert (caught.value.status, caught.value.detail) == (503, "the store does not answer")
    assert len(manager.seen) == 1


def test_giving_up_says_what_the_manager_said_last() -> None:
    with answering(Recovering(99, {})) as client, pytest.raises(ClientError, match="the store does not answer"):
        client.limits()


def test_no_manager_at_all_is_an_error_that_names_the_address() -> None:
    with make_server("127.0.0.1", 0, Response()) as unused:
        address = f"http://127.0.0.1:{unused.server_port}"
    with Client(address) as client, pytest.raises(ClientError) as caught:
        client.limits()
    assert caught.value.status is None
    assert address in caught.value.detail
    assert "refused" in caught.value.detail


@pytest.mark.parametrize("body", ["<html>Bad Gateway</html>", "[]", '{"status": 502}', '{"detail": "x", "faults": 3}'])
def test_a_refusal_that_is_no_problem_document_is_told_by_its_status(body: str) -> None:
    with answering(lambda request: Response(body, 502)) as client, pytest.raises(ClientError) as caught:
        client.limits()
    assert (caught.value.status, caught.value.detail) == (502, "502 BAD GATEWAY")


def test_ids_are_quoted_and_never_become_paths() -> None:
    manager = Recovering(0, {})
    with answering(manager) as client:
        client.job("../../x", "a/b?c#d")
    assert manager.seen[0].environ["REQUEST_URI"] == "/api/v1/experiments/..%2F..%2Fx/jobs/a%2Fb%3Fc%23d"


def test_a_netrc_of_the_machine_does_not_stand_for_the_token(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "netrc").write_text("machine 127.0.0.1 login somebody password else\n")
    (tmp_path / "netrc").chmod(0o600)
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
    for token, shown in (("jq_mine", "Bearer jq_mine"), (None, None)):
        manager = Recovering(0, {})
        with answering(manager, token) as client:
            client.limits()
        assert manager.seen[0].headers.get("Authorization") == shown


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirection_is_not_followed_but_named(status: int) -> None:
    """The token is for the host of the URL, and for no other that it names."""
    elsewhere = Recovering(0, {})
    with answering(elsewhere) as other:
        location = f"{other.url}/api/v1/limits"
        leading = Recovering(0, {})

        def lead_on(request: Request) -> Response:
            leading(request)
            return Response("", status, {"Location": location})

        with answering(lead_on, "jq_mine") as client, pytest.raises(ClientError, match=location) as refused:
            client.limits()
    assert "give the manager's own URL" in refused.value.detail
    assert (len(leading.seen), len(elsewhere.seen)) == (1, 0)


def test_who_has_no_token_is_told_where_to_put_one() -> None:
    with answering(_unauthenticated) as client, pytest.raises(ClientError) as refused:
        client.limits()
    assert refused.value.status == 401
    for word in ("wants a token", "JQUEUER_TOKEN", "JQUEUER_TOKEN_FILE", "`jqueuer token add`"):
        assert word in refused.value.detail


def test_whose_token_is_wrong_is_told_which_it_was_but_not_what(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JQUEUER_TOKEN", "jq_mine")
    with answering(_unauthenticated) as client, pytest.raises(ClientError) as refused:
        client.limits()
    assert "does not know the token in JQUEUER_TOKEN: it may have expired" in refused.value.detail
    assert "jq_mine" not in refused.value.detail


def _unauthenticated(request: Request) -> Response:
    return Response('{"detail": "no such token", "faults": []}', 401)
