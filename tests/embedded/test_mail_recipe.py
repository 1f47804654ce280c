"""docs/recipes/mail.py, as the page shows it: a running system's webhooks become e-mails that a mail server takes."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest
import requests

from jqueuer.notifying import headers, new_message, new_secret
from tests.bad_input.raw import Target
from tests.contract.test_outbox import FACTS
from tests.embedded.mail_server import mail_server
from tests.embedded.running import System
from tests.ports import free_port

Eventually = Callable[..., None]
RECIPE = Path(__file__).parents[2] / "docs" / "recipes" / "mail.py"


@contextmanager
def recipe(secret_file: Path, *options: str, printed: list[str] | None = None) -> Iterator[str]:
    """The program, with no package of ours to lean on; its URL. Interrupted it has to end well."""
    command = [sys.executable, "-I", str(RECIPE), "--listen", "127.0.0.1:0", "--secret-file", str(secret_file)]
    process = subprocess.Popen([*command, "--to", "ada@example.org", *options], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        yield process.stdout.readline().removeprefix("listening on ").strip()
    finally:
        process.send_signal(signal.SIGINT)
        rest, _ = process.communicate(timeout=20)
        assert process.returncode == 0, rest
        if printed is not None:
            printed.append(rest)


@pytest.fixture
def secret_file(tmp_path: Path) -> Path:
    file = tmp_path / "webhook_secret"
    file.write_text(f"{new_secret()}\n")
    return file


def webhook(secret_file: Path, *, age_seconds: float = 0) -> tuple[dict[str, str], bytes]:
    message = new_message("sweep", "accomplished", "", FACTS).model_copy(update={"at": 1_800_000_000.0})
    secret, body = secret_file.read_text().strip(), message.body()
    return headers(secret, message.id, time.time() - age_seconds, body), body


def statuses(url: str, requests_to_send: Sequence[tuple[dict[str, str], bytes]]) -> list[int]:
    return [requests.post(url, body, headers=known, timeout=20).status_code for known, body in requests_to_send]


def test_a_running_systems_experiment_is_mailed_about(system: System, eventually: Eventually) -> None:
    with (
        mail_server() as post,
        recipe(
            system.embedded.webhook_secret_file, "--smtp", f"127.0.0.1:{post.port}", "--from", "jq@example.org"
        ) as url,
    ):
        experiment_id = system.submit(f"""
            name: night run
            deadline: 1h
            notify: {url}
            on_failure: cancel
            jobs: [{{command: ["true"]}}, {{command: ["false"]}}]
            """)
        eventually(lambda: post.mails, 30)
        told = f"{url} was told experiment.failed"
        eventually(lambda: told in [entry["reason"] for entry in system.api.journal(experiment_id)])
    (mail,) = post.mails
    assert (mail["From"], mail["To"], mail["Subject"]) == ("jq@example.org", "ada@example.org", "night run: FAILED")
    text = str(mail.get_payload())
    for words in (f"{experiment_id} (failed)", "1 of 2 jobs failed", "jobs: 1 accomplished, 1 failed", "deadline_at: "):
        assert words in text


def test_what_we_did_not_sign_or_sent_long_ago_is_refused_and_what_comes_twice_is_mailed_once(
    secret_file: Path, tmp_path: Path
) -> None:
    other = tmp_path / "other"
    other.write_text(new_secret())
    good = webhook(secret_file)
    with mail_server() as post, recipe(secret_file, "--smtp", f"127.0.0.1:{post.port}") as url:
        refused = [webhook(other), webhook(secret_file, age_seconds=600), (good[0], good[1] + b" "), ({}, b"{}")]
        assert statuses(url, refused) == [401] * 4
        assert post.mails == []
        assert statuses(url, [good, good, webhook(secret_file)]) == [204] * 3
    assert [mail["Subject"] for mail in post.mails] == ["größer: accomplished"] * 2


@pytest.mark.parametrize("length", [-1, 100_001])
def test_what_says_no_length_that_a_webhook_has_is_refused_unread(secret_file: Path, length: int) -> None:
    with recipe(secret_file) as url:
        host, port = url.removeprefix("http://").split(":")
        answer = Target((host, int(port)), {}).ask(f"POST / HTTP/1.1\r\nContent-Length: {length}\r\n\r\n".encode())
    assert answer.status == 400


def test_while_the_mail_server_is_away_we_are_asked_to_come_again(secret_file: Path) -> None:
    port, told = free_port(), webhook(secret_file)
    with recipe(secret_file, "--smtp", f"127.0.0.1:{port}") as url:
        assert statuses(url, [told]) == [503]
        with mail_server(port) as post:
            assert statuses(url, [told]) == [204]
    assert len(post.mails) == 1


def test_without_a_mail_server_it_prints(secret_file: Path) -> None:
    printed = list[str]()
    with recipe(secret_file, printed=printed) as url:
        assert statuses(url, [webhook(secret_file)]) == [204]
    assert "Subject: größer: accomplished" in printed[0]
    assert "To: ada@example.org" in printed[0]
