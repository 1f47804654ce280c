"""A wrong token opens nothing, however it is shown; and a right one no more than its role."""

from __future__ import annotations

import json
from collections.abc import Callable
from urllib.parse import urlsplit

import pytest

from jqueuer.access import digest_of, id_of
from tests.bad_input.http_requests import DESCRIPTION
from tests.bad_input.raw import Target
from tests.bad_input.tokens import CASES, Case
from tests.embedded.running import System

pytestmark = pytest.mark.usefixtures("nothing_lost")


@pytest.fixture(scope="module")
def target(system: System) -> Target:
    """Where the cases go, with a token of every kind and an experiment of the administrator's."""
    make = system.api.make_token
    withdrawn = make("gone", "admin")
    system.api.remove_token(withdrawn["id"])
    viewer, admin = make("eve", "viewer"), make("root", "admin")
    theirs = system.submit("name: theirs\njobs: [{command: ['true']}]")
    system.api.wait(theirs, poll_seconds=0.05)
    secret: str = admin["token"]
    parts = urlsplit(system.embedded.url)
    known = {
        "ADMIN": secret,
        "SHORTENED": secret[:-1],
        "CAPITALS": secret.upper(),
        "DIGEST": digest_of(secret),
        "ID": id_of(digest_of(secret)),
        "VIEWER": viewer["token"],
        "SUBMITTER": make("mallory", "submitter")["token"],
        "EXPIRED": make("late", "admin", expires="1ms")["token"],
        "WITHDRAWN": withdrawn["token"],
        "AGENT": (system.embedded.state_dir / "agent_token").read_text().strip(),
        "THEIRS": f"/api/v1/experiments/{theirs}",
    }
    return Target(
        (str(parts.hostname), int(parts.port or 0)),
        {f"@{name}@".encode(): value.encode() for name, value in known.items()},
    )


def sent(case: Case) -> bytes:
    body = DESCRIPTION if case.method in {"POST", "PUT"} else b""
    first = f"{case.method} {case.path} HTTP/1.1".encode()
    fixed = (b"Host: here", b"Connection: close", b"Content-Type: application/json", b"Content-Length: %d" % len(body))
    return b"\r\n".join([first, *fixed, *case.shown]) + b"\r\n\r\n" + body


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_it_opens_what_it_should_and_no_more(
    target: Target, system: System, case: Case, eventually: Callable[..., None]
) -> None:
    before = system.api.experiment(target.stands_for[b"@THEIRS@"].decode().rsplit("/", 1)[1])
    if case.name == "expired":
        eventually(lambda: target.ask(sent(case)).status != 200, 30)
    answer = target.ask(sent(case))
    assert (answer.status, case.said in answer.body.decode("latin-1")) == (case.status, True), answer
    if answer.status == 401:
        assert "WWW-Authenticate: Bearer" in answer.head
    if answer.status in {401, 403}:
        assert json.loads(answer.body)["status"] == answer.status
        assert not any(
            secret in answer.body for name, secret in target.stands_for.items() if name not in {b"@THEIRS@", b"@ID@"}
        )
    after = system.api.experiment(before["id"])
    assert (after["state"], after["jobs"]) == (before["state"], before["jobs"])


def test_no_token_is_in_a_log(system: System, target: Target) -> None:
    logs = b"".join(path.read_bytes() for path in (system.embedded.state_dir / "logs").iterdir())
    secrets = [value for name, value in target.stands_for.items() if name not in {b"@THEIRS@", b"@ID@"}]
    assert [secret for secret in secrets if secret in logs] == []
