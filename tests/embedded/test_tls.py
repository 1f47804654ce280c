"""HTTPS to the manager, TLS to store and broker: spoken, checked, and explained where it is not trusted."""

from __future__ import annotations

import os
import signal
import socket
import ssl
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import pytest
import requests

from jqueuer.adapters.celery_queue import CeleryJobQueue, celery_app
from jqueuer.adapters.http_artifacts import HttpArtifacts
from jqueuer.adapters.redis_store import connect
from jqueuer.adapters.redis_store.connection import StoreClient
from jqueuer.adapters.tls import check_ca_file, check_certificate
from jqueuer.adapters.valkey import ValkeyServer
from jqueuer.errors import SettingsError, StoreUnavailableError
from jqueuer.signing import MessageSigner
from tests.certificates import Authority, Certificate
from tests.embedded.own_manager import OwnManager, own_manager
from tests.embedded.tls_parts import authority as authority
from tests.embedded.tls_parts import certificate as certificate
from tests.embedded.tls_parts import tls_rabbitmq, tls_store

TOKEN = "the agents' token"
PASSWORD = "the store's password"
HINT = "JQUEUER_CA_FILE has to name the certificate of the authority that signed it"
Eventually = Callable[..., None]


def over_tls(certificate: Certificate) -> dict[str, str]:
    return {
        "tls_certificate": str(certificate.chain),
        "tls_key": str(certificate.key),
        "agent_token": TOKEN,
        "max_open_requests": "16",
    }


@pytest.fixture
def manager(
    client: StoreClient,
    valkey: ValkeyServer,
    state_dir: Path,
    authority: Authority,
    certificate: Certificate,
    eventually: Eventually,
) -> Iterator[OwnManager]:
    settings = {"store_url": valkey.store_url, "broker_url": valkey.broker_url, **over_tls(certificate)}
    with own_manager(state_dir, eventually, **settings) as started, requests.Session() as session:
        session.trust_env, session.verify = False, str(authority.file)
        eventually(lambda: session.get(f"{started.url}/readyz", timeout=30).ok)
        yield started


def test_the_manager_speaks_https_to_whoever_knows_its_authority(manager: OwnManager, authority: Authority) -> None:
    assert manager.url.startswith("https://127.0.0.1:")
    with requests.Session() as session:
        session.trust_env, session.verify = False, str(authority.file)
        for path in ("/healthz", "/nowhere"):
            answer = session.get(f"{manager.url}{path}", timeout=30)
            assert answer.headers["Strict-Transport-Security"] == "max-age=31536000"
    with pytest.raises(requests.exceptions.SSLError):
        requests.get(f"{manager.url}/healthz", timeout=30)


def test_a_client_that_breaks_off_a_handshake_or_speaks_http_harms_nobody(
    manager: OwnManager, authority: Authority
) -> None:
    with ExitStack() as stack:
        for words in (b"", b"\x16\x03", b"GET /healthz HTTP/1.1\r\nHost: m\r\n\r\n"):
            connection = stack.enter_context(socket.create_connection(manager.address, timeout=30))
            connection.sendall(words)
        assert not connection.recv(1000).startswith(b"HTTP/1.1 2")
        assert requests.get(f"{manager.url}/healthz", timeout=30, verify=str(authority.file)).ok


def test_older_protocols_than_tls_1_2_are_refused(manager: OwnManager) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    context.set_ciphers("ALL:@SECLEVEL=0")
    with pytest.warns(DeprecationWarning, match="TLSv1_1"):
        context.minimum_version = context.maximum_version = ssl.TLSVersion.TLSv1_1
    with socket.create_connection(manager.address) as plain, pytest.raises(ssl.SSLError):
        context.wrap_socket(plain)


def test_agents_bring_their_files_by_https_where_they_trust_the_manager(
    manager: OwnManager, authority: Authority
) -> None:
    with closing(HttpArtifacts(manager.url, TOKEN, ca_file=authority.file)) as artifacts:
        assert artifacts.max_output_bytes() == 1 << 30
    with closing(HttpArtifacts(manager.url, TOKEN)) as artifacts, pytest.raises(StoreUnavailableError, match=HINT):
        artifacts.max_output_bytes()


def test_a_certificate_for_another_name_is_not_trusted(
    client: StoreClient, valkey: ValkeyServer, state_dir: Path, authority: Authority, eventually: Eventually
) -> None:
    foreign = over_tls(authority.certificate("DNS:somewhere.example"))
    with (
        own_manager(state_dir, eventually, store_url=valkey.store_url, broker_url=valkey.broker_url, **foreign) as one,
        closing(HttpArtifacts(one.url, TOKEN, ca_file=authority.file)) as artifacts,
        pytest.raises(StoreUnavailableError, match="a name that the certificate is for"),
    ):
        artifacts.max_output_bytes()


def agent_of(url: str, valkey: ValkeyServer, directory: Path, **settings: str) -> subprocess.CompletedProcess[str]:
    environment = {
        **os.environ,
        "JQUEUER_STORE_URL": valkey.store_url,
        "JQUEUER_BROKER_URL": valkey.broker_url,
        "JQUEUER_STATE_DIR": str(directory),
        "JQUEUER_MANAGER_URL": url,
        "JQUEUER_AGENT_TOKEN": TOKEN,
        **{f"JQUEUER_{name.upper()}": value for name, value in settings.items()},
    }
    command = [sys.executable, "-m", "jqueuer_agent"]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60)


def test_an_agent_that_cannot_trust_the_manager_says_what_to_do(
    manager: OwnManager, valkey: ValkeyServer, tmp_path: Path
) -> None:
    agent = agent_of(manager.url, valkey, tmp_path / "agent")
    assert agent.returncode == 3
    [words] = agent.stderr.splitlines()
    assert words.startswith(f"jqueuer agent: this agent does not know the manager at {manager.url}; its certificate is")
    assert HINT in words


def test_an_agent_whose_ca_file_is_none_says_so(valkey: ValkeyServer, tmp_path: Path) -> None:
    (tmp_path / "ca.pem").write_text("no certificate")
    agent = agent_of("https://127.0.0.1:1", valkey, tmp_path / "agent", ca_file=str(tmp_path / "ca.pem"))
    assert agent.returncode == 3
    assert "JQUEUER_CA_FILE: " in agent.stderr
    with pytest.raises(SettingsError, match="No such file"):
        check_ca_file(tmp_path / "nowhere.pem")


def test_a_manager_that_is_half_configured_for_tls_does_not_start(certificate: Certificate, tmp_path: Path) -> None:
    environment = {**os.environ, "JQUEUER_TLS_CERTIFICATE": str(certificate.chain), "JQUEUER_STATE_DIR": str(tmp_path)}
    manager = subprocess.run(
        [sys.executable, "-m", "jqueuer_manager"], env=environment, capture_output=True, text=True, timeout=60
    )
    assert (manager.returncode, manager.stderr.splitlines()) == (
        3,
        ["jqueuer manager: JQUEUER_TLS_CERTIFICATE is set and JQUEUER_TLS_KEY is not: HTTPS needs both, HTTP neither"],
    )


def test_a_certificate_and_a_key_that_do_not_belong_together_are_refused(
    authority: Authority, certificate: Certificate, tmp_path: Path
) -> None:
    (tmp_path / "empty").touch()
    check_certificate(None, None)
    check_certificate(certificate.chain, certificate.key)
    for chain, key, words in (
        (None, certificate.key, "JQUEUER_TLS_KEY is set and JQUEUER_TLS_CERTIFICATE is not"),
        (certificate.chain, authority.certificate("DNS:x").key, "are not a certificate chain and its key"),
        (tmp_path / "empty", certificate.key, "are not a certificate chain and its key"),
        (certificate.chain, tmp_path / "nowhere", "JQUEUER_TLS_KEY: .*nowhere cannot be read: No such file"),
    ):
        with pytest.raises(SettingsError, match=words):
            check_certificate(chain, key)


def test_a_key_with_a_pass_phrase_is_refused_and_nobody_is_asked_for_it(
    certificate: Certificate, tmp_path: Path
) -> None:
    locked = tmp_path / "locked.key"
    command = ["openssl", "ec", "-aes128", "-passout", "pass:x", "-in", str(certificate.key), "-out", str(locked)]
    subprocess.run(command, check=True, capture_output=True)
    with pytest.raises(SettingsError, match="without a pass phrase"):
        check_certificate(certificate.chain, locked)


@pytest.fixture(params=["rediss", "amqps"])
def urls(
    request: pytest.FixtureRequest,
    authority: Authority,
    certificate: Certificate,
    tmp_path: Path,
    eventually: Eventually,
) -> Iterator[dict[str, str]]:
    """A store and a broker behind TLS, as settings."""

    def ready(port: int) -> None:
        def answers() -> bool:
            try:
                with connect(f"rediss://:{PASSWORD}@127.0.0.1:{port}/0", ca_file=authority.file) as store:
                    return bool(store.ping())
            except StoreUnavailableError:
                return False

        eventually(answers)

    with ExitStack() as stack:
        port = stack.enter_context(tls_store(tmp_path / "redis", certificate, ready, PASSWORD))
        urls = {"store_url": f"rediss://:{PASSWORD}@localhost:{port}/0"}
        if request.param == "rediss":
            urls["broker_url"] = f"rediss://:{PASSWORD}@localhost:{port}/1"
        else:
            urls["broker_url"] = stack.enter_context(tls_rabbitmq(tmp_path / "rabbitmq", certificate)).broker_url
        yield urls


def test_a_job_runs_where_everything_speaks_tls(
    urls: dict[str, str], authority: Authority, certificate: Certificate, tmp_path: Path, eventually: Eventually
) -> None:
    common = {**urls, "ca_file": str(authority.file), **over_tls(certificate)}
    with own_manager(tmp_path / "manager", eventually, **common) as manager, requests.Session() as session:
        session.trust_env, session.verify = False, str(authority.file)
        eventually(lambda: session.get(f"{manager.url}/readyz", timeout=30).ok)
        settings = {**common, "state_dir": str(tmp_path / "agent"), "manager_url": manager.url}
        environment = os.environ | {f"JQUEUER_{name.upper()}": value for name, value in settings.items()}
        with (tmp_path / "agent.log").open("wb") as log:
            agent = subprocess.Popen([sys.executable, "-m", "jqueuer_agent"], env=environment, stderr=log)
        try:
            description = {"jobs": [{"id": "a", "command": ["echo", "through"]}]}
            submitted = session.post(f"{manager.url}/api/v1/experiments", json=description, timeout=30).json()
            experiment = f"{manager.url}{submitted['links']['self']}"
            eventually(lambda: session.get(experiment, timeout=30).json()["state"] == "accomplished", 60.0)
            assert session.get(f"{experiment}/jobs/a/attempts/1/stdout", timeout=30).text == "through\n"
        finally:
            agent.send_signal(signal.SIGTERM)
            assert agent.wait(60) == 0
        assert PASSWORD not in manager.words() + (tmp_path / "agent.log").read_text()


def test_a_store_and_a_broker_whose_authority_is_not_known_are_not_spoken_to(
    urls: dict[str, str], authority: Authority
) -> None:
    with connect(urls["store_url"]) as store, pytest.raises(StoreUnavailableError, match=HINT) as told:
        store.ping()
    assert PASSWORD not in str(told.value)
    with pytest.raises(StoreUnavailableError, match=HINT) as told:
        CeleryJobQueue(celery_app(urls["broker_url"]), MessageSigner("")).publish("x", ["a"])
    assert PASSWORD not in str(told.value)


def test_a_store_and_a_broker_with_a_certificate_for_another_name_are_not_spoken_to(
    urls: dict[str, str], authority: Authority
) -> None:
    elsewhere = {name: url.replace("localhost", "127.1") for name, url in urls.items()}
    with (
        connect(elsewhere["store_url"], ca_file=authority.file) as store,
        pytest.raises(StoreUnavailableError, match=HINT),
    ):
        store.ping()
    with pytest.raises(StoreUnavailableError, match=HINT):
        CeleryJobQueue(celery_app(elsewhere["broker_url"], ca_file=authority.file), MessageSigner("")).publish(
            "x", ["a"]
        )
