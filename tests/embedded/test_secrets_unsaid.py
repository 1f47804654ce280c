"""Passwords and tokens are in no error, no log, no answer and no label."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest
import requests
from pydantic import ValidationError

from jqueuer.adapters.celery_queue import CeleryJobQueue, celery_app
from jqueuer.adapters.processes import dying_with_parent
from jqueuer.adapters.redis_store import connect
from jqueuer.adapters.valkey import server_binary
from jqueuer.errors import SettingsError, StoreUnavailableError
from jqueuer.model import Experiment
from jqueuer.settings import Settings, load_settings
from jqueuer.signing import MessageSigner
from jqueuer_manager.adapters.swarm.spec import service_spec
from tests.embedded.own_manager import own_manager
from tests.embedded.webhook_receiver import webhook_receiver
from tests.ports import free_port

SECRET = "hunter2-and-more"
EVERY_SECRET: dict[str, Any] = {
    "store_url": f"redis://:{SECRET}@store:6379/0",
    "broker_url": f"amqp://jqueuer:{SECRET}@broker:5672//",
    **{name: SECRET for name, field in Settings.model_fields.items() if "SecretStr" in str(field.annotation)},
    "webhook_url": f"https://hooks.example/{SECRET}",
    "webhook_secret": f"whsec_{SECRET.replace('-', '+') * 4}",
}


def test_the_settings_show_none_of_their_secrets() -> None:
    settings = Settings(**EVERY_SECRET)
    assert {name for name in EVERY_SECRET if name.endswith(("token", "password"))} >= {"agent_token", "store_password"}
    assert SECRET in settings.full_store_url
    assert SECRET in settings.full_broker_url
    assert SECRET not in repr(settings) + str(settings)


@pytest.mark.parametrize("name", ["STORE", "BROKER"])
@pytest.mark.parametrize(
    "url",
    [
        f"http://:{SECRET}@host",
        f"{SECRET}@host",
        f"redis://:a/{SECRET}@host:6379",
        f"redis://:{SECRET}@host:port",
        f"redis://[{SECRET}@host",
        f"redis://:{SECRET}@",
    ],
)
def test_a_wrong_url_is_refused_without_repeating_it(name: str, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(f"JQUEUER_{name}_URL", url)
    with pytest.raises(SettingsError, match=f"JQUEUER_{name}_URL: expected a URL that begins with") as told:
        load_settings()
    assert SECRET not in str(told.value)
    with pytest.raises(ValidationError) as raw:
        Settings()
    assert SECRET not in str(raw.value)


def test_a_service_carries_no_secret_and_no_privilege() -> None:
    """What `docker inspect` shows to everybody on the node."""
    settings = Settings(**EVERY_SECRET)
    specification = service_spec("e1", Experiment(image="i"), 1, settings, image="i")
    container = specification["TaskTemplate"]["ContainerSpec"]
    assert SECRET not in json.dumps(specification)
    assert specification["Labels"] == container["Labels"] == {"jqueuer.experiment": "e1"}
    powers = {"Env", "Secrets", "Configs", "Privileges", "CapabilityAdd", "Sysctls", "Ulimits", "Devices"}
    assert powers & container.keys() == set()
    assert "Resources" not in specification["TaskTemplate"]


@contextmanager
def locked_store(directory: Path) -> Iterator[int]:
    """A store that asks for a password nobody knows here; its port."""
    port = free_port()
    process = subprocess.Popen(
        [str(server_binary()), *("--port", str(port), "--save", "", "--dir", str(directory), "--requirepass", "other")],
        stdout=subprocess.DEVNULL,
        preexec_fn=dying_with_parent(signal.SIGKILL),
    )
    try:
        yield port
    finally:
        process.kill()
        process.wait()


@pytest.mark.parametrize("store_is", ["away", "locked"])
def test_a_store_that_does_not_let_us_in_is_reported_without_the_password(
    store_is: str, tmp_path: Path, eventually: Callable[..., None]
) -> None:
    (tmp_path / "store").mkdir()
    with locked_store(tmp_path / "store") as locked:
        url = f"redis://:{SECRET}@127.0.0.1:{locked if store_is == 'locked' else free_port()}/0"
        with own_manager(tmp_path / "state", eventually, store_url=url, broker_url=url, agent_token=SECRET) as manager:
            eventually(lambda: "the store is away" in manager.words(), 60.0)
            answers = [requests.get(f"{manager.url}{path}", timeout=60) for path in ("/readyz", "/api/v1/experiments")]
            assert [answer.status_code for answer in answers] == [503, 503]
            said = "".join(f"{answer.headers}{answer.text}" for answer in answers) + manager.words()
        for ask in (
            lambda: connect(url).ping(),
            lambda: CeleryJobQueue(celery_app(url), MessageSigner(SECRET)).publish("x", ["a"]),
        ):
            with pytest.raises(StoreUnavailableError) as told:
                ask()
            said += str(told.value)
    assert SECRET not in said


TELLING = """
import sys
from jqueuer.logs import configure_logging
from jqueuer_manager.adapters.one_conversation import post
configure_logging()
print(post(sys.argv[1], b"{}", {}, timeout_seconds=20, most_bytes=0))
"""


def test_an_answer_that_is_no_http_brings_neither_the_url_nor_itself_into_the_logs() -> None:
    def badly(handler: BaseHTTPRequestHandler) -> None:
        handler.wfile.write(b'HTTP/1.1 204 No Content\r\nno colon here\r\n{"event": "forged"}\r\n\r\n')

    with webhook_receiver() as receiver:
        receiver.answer = badly
        told = subprocess.run([sys.executable, "-c", TELLING, receiver.url], capture_output=True, text=True, timeout=60)
    assert (told.stdout, told.stderr) == ("(204, b'')\n", "")
