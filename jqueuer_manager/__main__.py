"""The manager process: ``python -m jqueuer_manager``. One worker process answers the API and drives the controllers."""

from __future__ import annotations

import gc
import json
import os
import sys
import threading
from dataclasses import replace
from typing import Any

import structlog
from flask import Flask, Response, request
from gunicorn.app.base import BaseApplication

from jqueuer.adapters.celery_queue import CeleryJobQueue, celery_app
from jqueuer.adapters.directory_artifacts import DirectoryArtifacts
from jqueuer.adapters.redis_store import (
    RedisContainerRegistry,
    RedisExperimentStore,
    RedisJobLedger,
    RedisOutbox,
    RedisSessionStore,
    RedisTokenStore,
    connect,
)
from jqueuer.adapters.redis_store.connection import StoreClient
from jqueuer.adapters.redis_store.versions import upgrade
from jqueuer.adapters.state_directory import open_state_directory
from jqueuer.adapters.tls import check_ca_file, check_certificate
from jqueuer.errors import JQueuerError, SettingsError, StoreUnavailableError
from jqueuer.logs import configure_logging
from jqueuer.ports import ContainerRegistry, ExperimentStore, Orchestrator
from jqueuer.settings import Settings, load_settings
from jqueuer.signing import MessageSigner
from jqueuer_manager.adapters.local_orchestrator import LocalOrchestrator
from jqueuer_manager.adapters.swarm import SwarmOrchestrator
from jqueuer_manager.api import create_app
from jqueuer_manager.delivery import Delivery
from jqueuer_manager.loop import ControlLoop
from jqueuer_manager.notices import check_webhooks
from jqueuer_manager.open_requests import ALWAYS_ANSWERED, OpenRequests
from jqueuer_manager.openness import warn_of_openness
from jqueuer_manager.receiver import Receiver
from jqueuer_manager.services import Services
from jqueuer_manager.worker import PatientWorker, allow_files, connections_for, threads_for, tls_context

_SWITCH_SECONDS = 0.001
"""How soon a thread that takes in a hundred thousand jobs gives way to one that answers a small request."""
_REQUEST_LINE_BYTES = 8190
"""gunicorn's greatest; names of outputs may have 4096 characters."""
_STORE_AGAIN_SECONDS = 0.5
_REFUSED = 3
_HTTPS_FROM_NOW_ON = "max-age=31536000"
"""Strict-Transport-Security: browsers that came by HTTPS once do not come otherwise for a year."""

log = structlog.get_logger()


def compose(settings: Settings) -> Services:
    """The composition root: every adapter of the manager is chosen here."""
    client = connect(settings.full_store_url, ca_file=settings.ca_file)
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
        queue=CeleryJobQueue(
            celery_app(settings.full_broker_url, ca_file=settings.ca_file),
            MessageSigner(settings.agent_token.get_secret_value()),
        ),
        orchestrator=_orchestrator(settings, RedisContainerRegistry(client), experiments),
        artifacts=DirectoryArtifacts(settings.state_dir),
        tokens=RedisTokenStore(client),
        sessions=RedisSessionStore(client),
        outbox=RedisOutbox(client, journal_entries=settings.journal_entries),
        ready=ready,
    )


def _orchestrator(settings: Settings, registry: ContainerRegistry, experiments: ExperimentStore) -> Orchestrator:
    if settings.engine == "docker":
        return SwarmOrchestrator(settings, registry, experiments)
    return LocalOrchestrator(registry, node=settings.node)


class Beginning:
    """What is done before the first request: the store is upgraded, half-received experiments go, the loop is started.

    It needs the store, which may come up later than the manager: until then the manager is alive, but not ready.
    """

    def __init__(self, services: Services, store: StoreClient) -> None:
        self._store = store
        self.services = replace(services, ready=self._ready)
        self._services_ready = services.ready
        self._loop = ControlLoop(self.services)
        self._delivery = Delivery(self.services)
        self._begun, self._stopping = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._run, name="beginning", daemon=True)

    def start(self) -> None:
        """Begin, or go on trying."""
        self._thread.start()

    def stop(self) -> None:
        """End what was begun."""
        self._stopping.set()
        if self._thread.ident is not None:
            self._thread.join()
        if self._begun.is_set():
            self._delivery.stop()
            self._loop.stop()

    def refuse_early(self) -> None:
        """Before each request: until the manager has begun it answers nothing but whether it lives."""
        if not self._begun.is_set() and request.path not in ALWAYS_ANSWERED:
            raise StoreUnavailableError("the manager waits for its store")

    def _run(self) -> None:
        said = False
        while not self._stopping.is_set():
            try:
                upgrade(self._store)
                Receiver(self.services).purge()
                warn_of_openness(self.services.settings, self.services.tokens)
            except SettingsError as error:
                _say(error)
                os._exit(_REFUSED)  # gunicorn ends with what it takes for a worker that could not begin
            except StoreUnavailableError as error:
                if not said:
                    log.warning("the store is away; waiting for it", error=str(error))
                said = True
                self._stopping.wait(_STORE_AGAIN_SECONDS)
                continue
            self._loop.start()
            self._delivery.start()
            self._begun.set()
            return

    def _ready(self) -> tuple[bool, str]:
        return self._services_ready() if self._begun.is_set() else (False, "the manager waits for its store")


class ManagerServer(BaseApplication):  # type: ignore[misc] # gunicorn has no types
    """gunicorn with one worker of many threads; connections and control loop are made after it forks."""

    def __init__(self, settings: Settings) -> None:
        check_certificate(settings.tls_certificate, settings.tls_key)
        check_ca_file(settings.ca_file)
        check_webhooks(settings)
        self._settings = settings
        self._beginning: Beginning | None = None
        super().__init__()

    def load_config(self) -> None:
        """Tell gunicorn what it needs to know."""
        most = self._settings.max_open_requests
        options: dict[str, Any] = {
            "bind": f"{self._settings.host}:{self._settings.port}",
            "workers": 1,
            "worker_class": PatientWorker,
            "threads": threads_for(most),
            "worker_connections": connections_for(most),
            "keepalive": 30,
            "graceful_timeout": 10,
            "loglevel": "warning",
            "when_ready": self._announce,
            "worker_exit": self._stop,
            "control_socket_disable": True,
            "limit_request_line": _REQUEST_LINE_BYTES,
            "forwarder_headers": "",  # nobody says by a header which path a request is for
        }
        if self._settings.tls_certificate is not None:
            options |= {
                "certfile": str(self._settings.tls_certificate),
                "keyfile": str(self._settings.tls_key),
                "ssl_context": tls_context,
            }
        for name, value in options.items():
            if name in self.cfg.settings:
                self.cfg.set(name, value)

    def load(self) -> Flask:
        """Called in the worker process."""
        settings = self._settings
        store = connect(settings.full_store_url, ca_file=settings.ca_file)
        self._beginning = Beginning(compose(settings), store)
        app = create_app(self._beginning.services)
        app.before_request(self._beginning.refuse_early)
        if self._settings.tls_certificate is not None:
            app.after_request(_keep_to_https)
        app.wsgi_app = OpenRequests(app.wsgi_app, self._settings.max_open_requests)  # type: ignore[method-assign]
        allow_files(connections_for(self._settings.max_open_requests))
        sys.setswitchinterval(_SWITCH_SECONDS)
        gc.collect()
        gc.freeze()  # what was loaded stays; looking through it again and again would hold up requests
        self._beginning.start()
        return app

    def end_streams(self) -> None:
        """Called in the worker process when it is to stop, also by signals: who listens for events is let go."""
        if self._beginning is not None:
            self._beginning.services.stopping.set()

    def _announce(self, server: Any) -> None:
        """Write down where the manager listens, for whoever started it with port 0."""
        host, port = server.LISTENERS[0].sock.getsockname()[:2]
        host = "127.0.0.1" if host in ("0.0.0.0", "::") else host  # noqa: S104 - read, not bound
        self._settings.state_dir.mkdir(parents=True, exist_ok=True)
        part = self._settings.state_dir / "manager.json.part"
        scheme = "http" if self._settings.tls_certificate is None else "https"
        part.write_text(json.dumps({"url": f"{scheme}://{host}:{port}", "pid": server.pid}))
        part.replace(self._settings.state_dir / "manager.json")

    def _stop(self, server: Any, worker: Any) -> None:
        if self._beginning is not None:
            self._beginning.stop()


def _keep_to_https(response: Response) -> Response:
    response.headers["Strict-Transport-Security"] = _HTTPS_FROM_NOW_ON
    return response


def main() -> int:
    """Serve until told to stop."""
    configure_logging()
    try:
        settings = load_settings()
        open_state_directory(settings.state_dir)
        ManagerServer(settings).run()
    except JQueuerError as error:
        _say(error)
        return _REFUSED
    return 0


def _say(error: JQueuerError) -> None:
    print(f"jqueuer manager: {error}", file=sys.stderr, flush=True)  # noqa: T201


if __name__ == "__main__":
    sys.exit(main())
