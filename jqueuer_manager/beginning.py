"""What is done before the first request, and with whom the manager works then."""

from __future__ import annotations

import os
import threading
from dataclasses import replace
from typing import Final

import structlog
from flask import request

from jqueuer.adapters.redis_store.connection import StoreClient
from jqueuer.adapters.redis_store.versions import upgrade
from jqueuer.errors import SettingsError, StoreUnavailableError
from jqueuer_manager.control_process import ControlProcess
from jqueuer_manager.last_words import REFUSED, say
from jqueuer_manager.open_requests import ALWAYS_ANSWERED
from jqueuer_manager.openness import warn_of_openness
from jqueuer_manager.receiver import Receiver
from jqueuer_manager.services import Services

_STORE_AGAIN_SECONDS: Final = 0.5

log = structlog.get_logger()


class Beginning:
    """The store is upgraded, half-received experiments go, the control process may begin.

    It needs the store, which may come up later than the manager: until then the manager is alive, but not ready.
    """

    def __init__(self, services: Services, store: StoreClient) -> None:
        self._store = store
        self._control = ControlProcess(services.changed)
        self.services = replace(services, ready=self._ready, control_pid=lambda: self._control.pid)
        self._services_ready = services.ready
        self._begun, self._stopping = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._run, name="beginning", daemon=True)

    def start(self) -> None:
        """Begin, or go on trying; the control process starts meanwhile."""
        self._control.start()
        self._thread.start()

    def stop(self) -> None:
        """End what was begun."""
        self._stopping.set()
        if self._thread.ident is not None:
            self._thread.join()
            self._control.stop()

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
                say(error)
                os._exit(REFUSED)  # gunicorn ends with what it takes for a worker that could not begin
            except StoreUnavailableError as error:
                if not said:
                    log.warning("the store is away; waiting for it", error=str(error))
                said = True
                self._stopping.wait(_STORE_AGAIN_SECONDS)
                continue
            self._control.begin()
            self._begun.set()
            return

    def _ready(self) -> tuple[bool, str]:
        return self._services_ready() if self._begun.is_set() else (False, "the manager waits for its store")
