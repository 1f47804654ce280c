"""Stores, brokers and a manager that speak TLS, with certificates of an authority of their own."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from jqueuer.adapters.processes import dying_with_parent
from tests.certificates import Authority, Certificate
from tests.contract.brokers import RabbitMQ, why_no_rabbitmq
from tests.ports import free_port

NAMES = ("DNS:localhost", "IP:127.0.0.1")


def need(reason: str | None) -> None:
    """Skip for this reason, if there is one; in CI nothing is skipped."""
    if reason is not None:
        pytest.fail(reason) if os.environ.get("CI") == "true" else pytest.skip(reason)


def why_no(program: str) -> str | None:
    """Why a program cannot be used, in words."""
    return None if shutil.which(program) else f"{program} is not installed (tools/install-test-services does it)"


@contextmanager
def tls_store(
    directory: Path, certificate: Certificate, ready: Callable[[int], object], password: str
) -> Iterator[int]:
    """A Redis that speaks nothing but TLS; its port. ``ready`` is asked until it says so."""
    need(why_no("redis-server"))
    directory.mkdir()
    port = free_port()
    with (directory / "log").open("wb") as log:
        process = subprocess.Popen(
            [
                *("redis-server", "--port", "0", "--tls-port", str(port), "--bind", "127.0.0.1", "--save", ""),
                *("--tls-cert-file", str(certificate.chain), "--tls-key-file", str(certificate.key)),
                *("--tls-auth-clients", "no", "--dir", str(directory), "--requirepass", password),
            ],
            stdout=log,
            stderr=log,
            preexec_fn=dying_with_parent(signal.SIGKILL),
        )
    try:
        ready(port)
        yield port
    finally:
        process.kill()
        process.wait()


@dataclass
class TlsRabbitMQ(RabbitMQ):
    """A RabbitMQ with one more listener, for TLS."""

    certificate: Certificate | None = None
    tls_port: int = field(default_factory=free_port)

    @property
    def broker_url(self) -> str:
        """For Celery, by TLS."""
        return f"amqps://guest:guest@localhost:{self.tls_port}//"

    def _prepare(self) -> dict[str, str]:
        environment = super()._prepare()
        assert self.certificate is not None
        with Path(environment["RABBITMQ_CONFIG_FILE"]).open("a") as configuration:
            configuration.write(
                f"listeners.ssl.1 = 127.0.0.1:{self.tls_port}\n"
                f"ssl_options.certfile = {self.certificate.chain}\nssl_options.keyfile = {self.certificate.key}\n"
                "ssl_options.verify = verify_none\nssl_options.versions.1 = tlsv1.2\nssl_options.versions.2 = tlsv1.3\n"
            )
        return environment


@contextmanager
def tls_rabbitmq(directory: Path, certificate: Certificate) -> Iterator[TlsRabbitMQ]:
    """One that is up."""
    need(why_no_rabbitmq())
    server = TlsRabbitMQ(directory, certificate=certificate)
    with contextlib.ExitStack() as stack:
        stack.callback(server.kill)
        server.start()
        yield server


@pytest.fixture(scope="session")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    """Who signs the certificates of these tests."""
    need(why_no("openssl"))
    return Authority(tmp_path_factory.mktemp("authority"))


@pytest.fixture(scope="session")
def certificate(authority: Authority) -> Certificate:
    """This machine's."""
    return authority.certificate(*NAMES)
