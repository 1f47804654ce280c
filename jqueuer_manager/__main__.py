"""The manager process: ``python -m jqueuer_manager``. One worker process answers the API and drives the controllers."""

from __future__ import annotations

import gc
import json
import sys
from typing import Any

from flask import Flask
from gunicorn.app.base import BaseApplication

from jqueuer.adapters.celery_queue import CeleryJobQueue, celery_app
from jqueuer.adapters.directory_artifacts import DirectoryArtifacts
from jqueuer.adapters.redis_store import RedisContainerRegistry, RedisExperimentStore, RedisJobLedger, connect
from jqueuer.errors import JQueuerError, StoreUnavailableError
from jqueuer.logs import configure_logging
from jqueuer.settings import Settings, load_settings
from jqueuer_manager.adapters.local_orchestrator import LocalOrchestrator
from jqueuer_manager.api import create_app
from jqueuer_manager.loop import ControlLoop
from jqueuer_manager.receiver import Receiver
from jqueuer_manager.services import Services

_THREADS = 16
_SWITCH_SECONDS = 0.0005
"""How soon a thread that takes in a hundred thousand jobs gives way to one that answers a small request."""


def compose(settings: Settings) -> Services:
    """The composition root: every adapter of the manager is chosen here."""
    client = connect(settings.full_store_url)
    experiments = RedisExperimentStore(client, journal_entries=settings.journal_entries)

    def ready() -> tuple[bool, str]:
        try:
            experiments.now()
        except StoreUnavailableError as error:
            return False, str(error)
        return True, "ready"

    return Services(
        settings=settings,
        experiments=experiments,
        ledger=RedisJobLedger(
            client, lease_seconds=settings.lease_seconds, max_lost_attempts=settings.max_lost_attempts
        ),
        queue=CeleryJobQueue(celery_app(settings.full_broker_url)),
        orchestrator=LocalOrchestrator(RedisContainerRegistry(client)),
        artifacts=DirectoryArtifacts(settings.state_dir),
        ready=ready,
    )


class ManagerServer(BaseApplication):  # type: ignore[misc] # gunicorn has no types
    """gunicorn with one worker of many threads; connections and control loop are made after it forks."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._loop: ControlLoop | None = None
        super().__init__()

    def load_config(self) -> None:
        """Tell gunicorn what it needs to know."""
        options: dict[str, Any] = {
            "bind": f"{self._settings.host}:{self._settings.port}",
            "workers": 1,
            "worker_class": "gthread",
            "threads": _THREADS,
            "keepalive": 30,
            "graceful_timeout": 10,
            "loglevel": "warning",
            "when_ready": self._announce,
            "worker_exit": self._stop_loop,
            "control_socket_disable": True,
        }
        for name, value in options.items():
            if name in self.cfg.settings:
                self.cfg.set(name, value)

    def load(self) -> Flask:
        """Called in the worker process."""
        services = compose(self._settings)
        Receiver(services).purge()
        self._loop = ControlLoop(services)
        self._loop.start()
        app = create_app(services)
        sys.setswitchinterval(_SWITCH_SECONDS)
        gc.collect()
        gc.freeze()  # what was loaded stays; looking through it again and again would hold up requests
        return app

    def _announce(self, server: Any) -> None:
        """Write down where the manager listens, for whoever started it with port 0."""
        host, port = server.LISTENERS[0].sock.getsockname()[:2]
        host = "127.0.0.1" if host in ("0.0.0.0", "::") else host  # noqa: S104 - read, not bound
        self._settings.state_dir.mkdir(parents=True, exist_ok=True)
        part = self._settings.state_dir / "manager.json.part"
        part.write_text(json.dumps({"url": f"http://{host}:{port}", "pid": server.pid}))
        part.replace(self._settings.state_dir / "manager.json")

    def _stop_loop(self, server: Any, worker: Any) -> None:
        if self._loop is not None:
            self._loop.stop()


def main() -> int:
    """Serve until told to stop."""
    configure_logging()
    try:
        ManagerServer(load_settings()).run()
    except JQueuerError as error:
        print(f"jqueuer manager: {error}", file=sys.stderr)  # noqa: T201
        return 3
    return 0


if __name__ == "__main__":
    sys.exit(main())
