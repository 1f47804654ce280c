"""Real brokers for the contract of the job queue: Valkey, and a RabbitMQ started here on ports of its own."""

from __future__ import annotations

import base64
import contextlib
import json
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from uuid import uuid4

import amqp
import pytest

from jqueuer.adapters.processes import dying_with_parent, kill_marked
from jqueuer.adapters.redis_store import connect
from jqueuer.adapters.valkey import ValkeyServer
from tests.ports import free_port

_MARKER = "JQUEUER_TEST_BROKER"
_START_SECONDS = 60.0


def _server() -> str | None:
    """The server's own script: the one that Debian puts on PATH insists on another user."""
    debian = sorted(str(script) for script in Path("/usr/lib/rabbitmq/lib").glob("*/sbin/rabbitmq-server"))
    return debian[-1] if debian else shutil.which("rabbitmq-server")


def why_no_rabbitmq() -> str | None:
    """Why no RabbitMQ can be started here, in words."""
    if _server() is None or shutil.which("epmd") is None:
        return "rabbitmq-server is not installed (tools/install-test-services installs it on Debian)"
    return None


@dataclass
class RabbitMQ:
    """A RabbitMQ node in a directory, with a port mapper of its own; stopped with everything it started."""

    directory: Path
    port: int = field(default_factory=free_port)
    metrics_port: int | None = None
    """Where it shows its metrics to Prometheus; nowhere where None."""
    _mark: str = field(default_factory=lambda: uuid4().hex)
    _mapper_port: int = field(default_factory=free_port)
    _distribution_port: int = field(default_factory=free_port)
    _processes: list[subprocess.Popen[bytes]] = field(default_factory=list)

    @property
    def broker_url(self) -> str:
        """For Celery."""
        return f"amqp://guest:guest@127.0.0.1:{self.port}//"

    def start(self) -> None:
        """Start it, empty or with what its directory holds, and wait until it takes connections."""
        environment = self._prepare()
        self._spawn(["epmd", "-port", str(self._mapper_port)], environment)
        server = _server()
        assert server is not None
        process = self._spawn([server], environment)
        deadline = time.monotonic() + _START_SECONDS
        while not self._answers():
            words = (self.directory / "log").read_text(errors="replace")[-2000:]
            assert process.poll() is None, f"RabbitMQ did not start; its last words:\n{words}"
            assert time.monotonic() < deadline, f"RabbitMQ did not answer in {_START_SECONDS:g} s:\n{words}"
            time.sleep(0.05)

    def _prepare(self) -> dict[str, str]:
        self.directory.mkdir(parents=True, exist_ok=True)
        configuration = self.directory / "rabbitmq.conf"
        lines = [f"listeners.tcp.local = 127.0.0.1:{self.port}", "disk_free_limit.absolute = 1MB", "log.console = true"]
        if self.metrics_port is not None:
            lines += ["prometheus.tcp.ip = 127.0.0.1", f"prometheus.tcp.port = {self.metrics_port}"]
        configuration.write_text("\n".join(lines) + "\n")
        plugins = self.directory / "enabled_plugins"
        plugins.write_text("[].\n" if self.metrics_port is None else "[rabbitmq_prometheus].\n")
        return {
            "PATH": os.environ["PATH"],
            "HOME": str(self.directory),  # where the cookie of this node lies
            "LANG": "C.UTF-8",
            "RABBITMQ_NODENAME": f"jqueuer{self.port}@localhost",
            "RABBITMQ_MNESIA_BASE": str(self.directory / "data"),
            "RABBITMQ_LOG_BASE": str(self.directory / "logs"),
            "RABBITMQ_LOGS": "-",
            "RABBITMQ_CONFIG_FILE": str(configuration),
            "RABBITMQ_ENABLED_PLUGINS_FILE": str(plugins),
            "RABBITMQ_CONF_ENV_FILE": str(self.directory / "none"),
            "RABBITMQ_DIST_PORT": str(self._distribution_port),
            "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS": "+S 1:1 +sbwt none",
            "ERL_EPMD_PORT": str(self._mapper_port),
            "ERL_EPMD_ADDRESS": "127.0.0.1",
            _MARKER: self._mark,
        }

    def _spawn(self, command: list[str], environment: dict[str, str]) -> subprocess.Popen[bytes]:
        with (self.directory / "log").open("ab") as log:
            process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=environment,
                cwd=self.directory,
                start_new_session=True,
                preexec_fn=dying_with_parent(signal.SIGKILL),
            )
        self._processes.append(process)
        return process

    def _answers(self) -> bool:
        with contextlib.suppress(OSError, amqp.exceptions.AMQPError), self.connection():
            return True
        return False

    def connection(self) -> amqp.Connection:
        """A bare connection, for looking at what is there."""
        return amqp.Connection(f"127.0.0.1:{self.port}", userid="guest", password="guest", connect_timeout=5)

    def control(self, *arguments: str) -> str:
        """What ``rabbitmqctl`` says."""
        server = _server()
        assert server is not None
        command = [str(Path(server).with_name("rabbitmqctl")), "--quiet", *arguments]
        return subprocess.run(command, env=self._prepare(), check=True, capture_output=True, text=True).stdout

    def kill(self) -> None:
        """End it as a power cut would: SIGKILL for everything of it."""
        kill_marked(f"{_MARKER}={self._mark}")
        while self._processes:
            self._processes.pop().wait()


@dataclass(frozen=True)
class Broker:
    """A broker under contract: how to reach it, how to end it and bring it back with what was durable."""

    server: ValkeyServer | RabbitMQ

    @property
    def url(self) -> str:
        """For Celery."""
        return self.server.broker_url

    def kill(self) -> None:
        """SIGKILL."""
        if isinstance(self.server, RabbitMQ):
            self.server.kill()
            return
        assert self.server.pid is not None
        os.kill(self.server.pid, signal.SIGKILL)
        while self.server.running:
            time.sleep(0.005)

    def start(self) -> None:
        """Bring it back."""
        self.server.start()

    def has_queue(self, name: str) -> bool:
        """Whether there is such a queue; on RabbitMQ however empty, on Valkey a list for each priority."""
        if isinstance(self.server, RabbitMQ):
            with self.server.connection() as connection, contextlib.suppress(amqp.NotFound):
                connection.channel().queue_declare(name, passive=True)
                return True
            return False
        with connect(f"unix://{self.server.socket}?db=1") as client:
            return bool(client.keys(f"{name}*"))

    def first_message(self, name: str) -> tuple[str, bytes]:
        """Content type and body of the first message in a queue, which stays there."""
        if isinstance(self.server, RabbitMQ):
            with self.server.connection() as connection:
                message = connection.channel().basic_get(name)
                return message.properties["content_type"], message.body.encode()
        with connect(f"unix://{self.server.socket}?db=1") as client:
            (key,) = client.keys(f"{name}*")
            envelope = json.loads(client.lindex(key, 0))
            return envelope["content-type"], base64.b64decode(envelope["body"])


@pytest.fixture(scope="session")
def rabbitmq(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RabbitMQ]:
    """One RabbitMQ for the whole session; skipped without one, but not in CI."""
    if (reason := why_no_rabbitmq()) is not None:
        pytest.fail(reason) if os.environ.get("CI") == "true" else pytest.skip(reason)
    server = RabbitMQ(tmp_path_factory.mktemp("rabbitmq"))
    try:
        server.start()
        yield server
    finally:
        server.kill()


@pytest.fixture(scope="session")
def own_valkey(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ValkeyServer]:
    """A Valkey that may be killed."""
    with ValkeyServer(tmp_path_factory.mktemp("broker")) as server:
        yield server


@pytest.fixture(params=["own_valkey", "rabbitmq"])
def broker(request: pytest.FixtureRequest) -> Broker:
    """Each broker in turn."""
    return Broker(request.getfixturevalue(request.param))
