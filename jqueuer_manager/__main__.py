"""The manager process: ``python -m jqueuer_manager``. One worker process answers the API, one controls."""

from __future__ import annotations

import gc
import json
import sys
from typing import Any

from flask import Flask, Response
from gunicorn.app.base import BaseApplication

from jqueuer.adapters.redis_store import connect
from jqueuer.adapters.state_directory import open_state_directory
from jqueuer.adapters.tls import check_ca_file, check_certificate
from jqueuer.errors import JQueuerError
from jqueuer.logs import configure_logging
from jqueuer.settings import Settings, load_settings
from jqueuer_manager.api import create_app
from jqueuer_manager.beginning import Beginning
from jqueuer_manager.composition import compose
from jqueuer_manager.last_words import REFUSED, say
from jqueuer_manager.notices import check_webhooks
from jqueuer_manager.open_requests import OpenRequests
from jqueuer_manager.worker import PatientWorker, allow_files, connections_for, threads_for, tls_context

_SWITCH_SECONDS = 0.001
"""How soon a thread that takes in a hundred thousand jobs gives way to one that answers a small request."""
_REQUEST_LINE_BYTES = 8190
"""gunicorn's greatest; names of outputs may have 4096 characters."""
_HTTPS_FROM_NOW_ON = "max-age=31536000"
"""Strict-Transport-Security: browsers that came by HTTPS once do not come otherwise for a year."""


class ManagerServer(BaseApplication):  # type: ignore[misc] # gunicorn has no types
    """gunicorn with one worker of many threads; connections and the control process are made after it forks."""

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
        say(error)
        return REFUSED
    return 0


if __name__ == "__main__":
    sys.exit(main())
