"""The lease of the job that is running: renewed while commands run, and while files are brought and fetched."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final, TypeVar

import structlog

from jqueuer.errors import StoreUnavailableError
from jqueuer.ports import Renewal

_FIRST_PAUSE_SECONDS: Final = 0.1
_LONGEST_PAUSE_SECONDS: Final = 2.0

_Result = TypeVar("_Result")

log = structlog.get_logger()


class Stopped(Exception):  # noqa: N818 - a way out, not an error of ours
    """The lease is lost, or the job was cancelled: there is nothing left to do for it."""


class Lease:
    """One attempt's right to go on."""

    def __init__(self, renew: Callable[[], Renewal]) -> None:
        self._renew = renew
        self._last = Renewal.KEPT

    @property
    def kept(self) -> bool:
        """Whether it was, by the last answer."""
        return self._last is Renewal.KEPT

    def beat(self) -> bool:
        """Renew it; whether to go on. Who cannot ask goes on: should somebody else get the job, ours is refused."""
        if self.kept:
            try:
                self._last = self._renew()
            except StoreUnavailableError:
                return True
        return self.kept

    def until_taken(self, act: Callable[[], _Result]) -> _Result:
        """Do what needs the keeper of the artifacts, again and again while that is away; :class:`Stopped` ends it."""
        pause_seconds = _FIRST_PAUSE_SECONDS
        while True:
            self.require()
            try:
                return act()
            except StoreUnavailableError as error:
                if pause_seconds == _FIRST_PAUSE_SECONDS:
                    log.warning("trying again until it is taken", error=str(error))
            time.sleep(pause_seconds)
            pause_seconds = min(_LONGEST_PAUSE_SECONDS, 2 * pause_seconds)

    def require(self) -> None:
        """:class:`Stopped` where it is not kept."""
        if not self.kept:
            raise Stopped


class LeaseKeeper:
    """Renews a lease while no command runs that would: one thread per container manager, started when first needed."""

    def __init__(self, every_seconds: float) -> None:
        self._every_seconds = every_seconds
        self._lease: Lease | None = None
        self._thread: threading.Thread | None = None

    @contextmanager
    def keeping(self, lease: Lease) -> Iterator[None]:
        """Renew it meanwhile."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._keep, name="lease-keeper", daemon=True)
            self._thread.start()
        self._lease = lease
        try:
            yield
        finally:
            self._lease = None

    def _keep(self) -> None:
        while True:
            time.sleep(self._every_seconds)
            if (lease := self._lease) is not None:
                try:
                    lease.beat()
                except Exception:  # this thread keeps the leases of all jobs to come
                    log.exception("a lease could not be renewed; trying again")
