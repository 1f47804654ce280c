"""The whole system on one machine: store and broker, manager and agent as child processes of whoever asked for them.

Everything it knows lies in the state directory, so after a crash of anything the next start goes on where it stopped.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Final
from urllib.parse import urlsplit

import requests
import structlog

from jqueuer.access import new_token
from jqueuer.adapters.processes import dying_with_parent, kill_marked
from jqueuer.adapters.redis_store import RedisExperimentStore, RedisJobLedger, connect
from jqueuer.adapters.redis_store.versions import upgrade
from jqueuer.adapters.state_directory import lock_state_directory, open_state_directory
from jqueuer.adapters.valkey import ValkeyServer
from jqueuer.client.credentials import ANNOUNCEMENT, TOKEN_FILE, find_authorities
from jqueuer.errors import ConflictError, JQueuerError
from jqueuer.notifying import new_secret
from jqueuer.secret_files import kept_secret
from jqueuer.settings import load_settings

MARKER: Final = "JQUEUER_EMBEDDED_IN"
"""In the environment of every process of an embedded run, and of nothing that a user starts: what to clean up after."""

_MANAGER: Final = "jqueuer_manager"
_AGENT: Final = "jqueuer_agent"
_ADMIN_TOKEN: Final = "JQUEUER_ADMIN_TOKEN"  # noqa: S105 - names of settings
_AGENT_TOKEN: Final = "JQUEUER_AGENT_TOKEN"  # noqa: S105
_WEBHOOK_SECRET: Final = "JQUEUER_WEBHOOK_SECRET"  # noqa: S105
_NOT_FOR_AGENTS: Final = frozenset(
    {
        _ADMIN_TOKEN,
        _WEBHOOK_SECRET,
        "JQUEUER_WEBHOOK_URL",
        "JQUEUER_METRICS_TOKEN",
        "JQUEUER_TOKEN",
        "JQUEUER_TOKEN_FILE",
    }
)
_START_SECONDS: Final = 60.0
_SUPERVISION_SECONDS: Final = 0.5
_MAX_DEATHS: Final = 20
"""A process that died so often is not mended by starting it once more."""

log = structlog.get_logger()


class Embedded:
    """A running system in ``state_dir``; a context manager. Only one at a time uses a directory."""

    def __init__(
        self, state_dir: Path, *, host: str = "127.0.0.1", port: int = 0, settings: dict[str, str] | None = None
    ) -> None:
        self.state_dir = state_dir.resolve()
        self.url = ""
        self.token = ""
        """The administrator's, from the first start on in :attr:`token_file`."""
        self._agent_token = self._webhook_secret = ""
        self._host, self._port = host, port
        self._settings = settings or {}
        self._valkey = ValkeyServer(self.state_dir / "store", {MARKER: str(self.state_dir)})
        self._lock: IO[str] | None = None
        self._processes: dict[str, subprocess.Popen[bytes]] = {}
        self._deaths: dict[str, int] = {}
        self._spawning = threading.Lock()
        self._stopping = threading.Event()
        self._stopped = threading.Event()
        self._supervisor = threading.Thread(target=self._supervise, name="supervisor", daemon=True)

    def __enter__(self) -> Embedded:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    @property
    def _marker(self) -> str:
        return f"{MARKER}={self.state_dir}"

    @property
    def token_file(self) -> Path:
        """Where clients on this machine find the administrator's token."""
        return self.state_dir / TOKEN_FILE

    @property
    def webhook_secret_file(self) -> Path:
        """Where receivers of webhooks on this machine find what these are signed with."""
        return self.state_dir / "webhook_secret"

    @property
    def pids(self) -> dict[str, int]:
        """The processes by name, for those who want to look at them or kill them."""
        found = {module: process.pid for module, process in self._processes.items()}
        return found | ({"store": self._valkey.pid} if self._valkey.pid is not None else {})

    def start(self) -> None:
        """Start everything and wait until the manager answers."""
        load_settings()  # what is wrong with them is better said here than in the logs of two processes
        self.state_dir.mkdir(mode=0o700, parents=True, exist_ok=True)  # with what jobs printed, and were given
        self._lock = lock_state_directory(self.state_dir)
        try:
            open_state_directory(self.state_dir)
            kill_marked(self._marker)
            self._refuse_taken_port()
            self._make_tokens()
            self._valkey.start()
            self._release_jobs()
            announcement = self.state_dir / ANNOUNCEMENT
            announcement.unlink(missing_ok=True)
            self._processes = {module: self._spawn(module) for module in (_MANAGER, _AGENT)}
            self._wait_for_manager(announcement)
            self._supervisor.start()
        except BaseException:
            self.stop(force=True)
            raise

    def _refuse_taken_port(self) -> None:
        with socket.socket() as attempt:
            attempt.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                attempt.bind((self._host, self._port))
            except OSError as error:
                where = f"{self._host}:{self._port}"
                raise ConflictError(f"cannot listen on {where}: {error.strerror}; choose another port") from None

    def _make_tokens(self) -> None:
        """Those of the settings, or of the last start, or new ones."""
        given = {**os.environ, **self._settings}
        self.token = kept_secret(self.token_file, given=given.get(_ADMIN_TOKEN, ""), make=new_token)
        agents = self.state_dir / "agent_token"
        self._agent_token = kept_secret(agents, given=given.get(_AGENT_TOKEN, ""), make=new_token)
        signing = given.get(_WEBHOOK_SECRET, "")
        self._webhook_secret = kept_secret(self.webhook_secret_file, given=signing, make=new_secret)

    def _release_jobs(self) -> None:
        """No container survived the processes it lived in, and no job is to blame: all are queued again at once."""
        with connect(self._valkey.store_url) as client:
            upgrade(client)
            ledger = RedisJobLedger(client)
            for experiment_id in RedisExperimentStore(client).active():
                ledger.release(experiment_id)

    def _spawn(self, module: str) -> subprocess.Popen[bytes]:
        logs = self.state_dir / "logs"
        logs.mkdir(exist_ok=True)
        environment = {
            **os.environ,
            **self._settings,
            "JQUEUER_STORE_URL": self._valkey.store_url,
            "JQUEUER_BROKER_URL": self._valkey.broker_url,
            "JQUEUER_STATE_DIR": str(self.state_dir),
            MARKER: str(self.state_dir),
            "JQUEUER_HOST": self._host,
            "JQUEUER_PORT": str(self._port),
            "JQUEUER_NODE": "local",  # whatever this machine is called today, its containers are found again
            _ADMIN_TOKEN: self.token,
            _AGENT_TOKEN: self._agent_token,
            _WEBHOOK_SECRET: self._webhook_secret,
        }
        if module == _AGENT:
            environment = {name: value for name, value in environment.items() if name not in _NOT_FOR_AGENTS}
        with (logs / f"{module}.log").open("ab") as output:
            return subprocess.Popen(
                [sys.executable, "-m", module],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                env=environment,
                start_new_session=True,
                preexec_fn=dying_with_parent(signal.SIGKILL),
            )

    def _wait_for_manager(self, announcement: Path) -> None:
        deadline = time.monotonic() + _START_SECONDS
        while time.monotonic() < deadline:
            self.check()
            try:
                self.url = json.loads(announcement.read_text())["url"]
                if requests.get(f"{self.url}/readyz", verify=find_authorities(), timeout=5).ok:
                    self._port = urlsplit(self.url).port or self._port  # another manager takes the same
                    return
            except (OSError, ValueError):
                time.sleep(0.02)  # written by another process, which nothing but a look can tell
        raise JQueuerError(f"the manager did not start within {_START_SECONDS:g} s; see {self.state_dir}/logs")

    def check(self) -> None:
        """:class:`JQueuerError` if a process has died before all were up, or died again and again since."""
        for module, process in self._processes.items():
            died = process.poll() is not None and self._supervisor.ident is None
            if died or self._deaths.get(module, 0) >= _MAX_DEATHS:
                words = self.state_dir / "logs" / f"{module}.log"
                raise JQueuerError(f"{module} does not stay up; its last words are in {words}")

    def _supervise(self) -> None:
        """Start what dies again; the new one takes over what it finds. The store is needed until all have stopped."""
        while not self._stopped.wait(_SUPERVISION_SECONDS):
            with self._spawning:
                try:
                    self._replace_the_dead()
                except (JQueuerError, OSError) as error:
                    log.error("could not start it again; trying once more", error=str(error))

    def _replace_the_dead(self) -> None:
        if not self._valkey.running:
            self._valkey.start()
        for module, process in list(self._processes.items()):
            if process.poll() is not None and not self._stopping.is_set():
                self._deaths[module] = self._deaths.get(module, 0) + 1
                self._processes[module] = self._spawn(module)

    def stop(self, *, force: bool = False) -> None:
        """Stop everything: running jobs finish first; with ``force`` they are ended and run again another time."""
        with self._spawning:
            self._stopping.set()
        for module in (_AGENT, _MANAGER):
            _end(self._processes.get(module), force)
            self._processes.pop(module, None)
        if force:
            kill_marked(self._marker)
        self._stopped.set()
        if self._supervisor.ident is not None:
            self._supervisor.join()
        self._valkey.stop()
        if self._lock is not None:
            (self.state_dir / ANNOUNCEMENT).unlink(missing_ok=True)
            self._lock.close()
            self._lock = None


def _end(process: subprocess.Popen[Any] | None, force: bool) -> None:
    if process is None or process.poll() is not None:
        return
    process.send_signal(signal.SIGKILL if force else signal.SIGTERM)
    process.wait()
