"""The control loop: looks at every active experiment, lets its controller decide, carries the commands out.

The loop is apart from the decisions: :func:`jqueuer.controller.step` is pure, :class:`Shell` performs for one
experiment, :class:`ControlLoop` only says when. A slow or failing experiment delays no other.
"""

from __future__ import annotations

import math
import threading
import time
from collections import Counter
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Final

import structlog

from jqueuer.errors import JQueuerError, StoreUnavailableError
from jqueuer.scheduling import UNKNOWN
from jqueuer_manager.services import Services
from jqueuer_manager.sharing import ClusterShares
from jqueuer_manager.shell import Shell

_THREADS: Final = 6
"""More would fight for the interpreter, with each other and with whoever answers requests."""
_RETENTION_PERIOD_SECONDS: Final = 60.0
_SUBMISSION_SECONDS: Final = 3600.0
_RETENTION_PAGE: Final = 100

log = structlog.get_logger()


class ControlLoop:
    """Drives the controllers of all experiments from one thread and a small pool."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self._shells: dict[str, Shell] = {}
        self._under_way: dict[str, Future[bool]] = {}
        self._looked_at: dict[str, float] = {}
        self._stopping = False
        self._pool = ThreadPoolExecutor(_THREADS, thread_name_prefix="controller")
        self._cluster = ClusterShares(services.orchestrator, self._pool)
        self._thread = threading.Thread(target=self._run, name="control-loop", daemon=True)
        self._retention_due_at = time.monotonic()

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def stop(self) -> None:
        """End after the steps under way; whoever starts next takes over what it finds."""
        self._stopping = True
        self._services.changed.set()
        self._thread.join()
        self._pool.shutdown()

    def _run(self) -> None:
        while not self._stopping:
            self._services.changed.wait(self._services.settings.control_seconds)
            self._services.changed.clear()
            try:
                self._look()
            except StoreUnavailableError as error:
                log.warning("the store is away; looking again", error=str(error))
            except Exception:  # nobody else would look after the experiments
                log.exception("the look at the experiments failed; looking again")

    def _look(self) -> None:
        for experiment_id, future in list(self._under_way.items()):
            if future.done():
                del self._under_way[experiment_id]
                if _settled(experiment_id, future):
                    self._shells.pop(experiment_id, None)
                    self._looked_at.pop(experiment_id, None)
        shares = self._cluster.of([shell.demand for shell in self._shells.values() if shell.demand is not None])
        at_work = sum((shell.at_work for shell in self._shells.values()), Counter())
        now, pause_seconds = time.monotonic(), self._services.settings.control_seconds
        for experiment_id in {*self._services.experiments.active(), *self._shells}:
            # Whoever submits wakes the loop for what is new; the others are looked at no more often for that.
            due = now - self._looked_at.get(experiment_id, -math.inf) >= 0.8 * pause_seconds
            if due and experiment_id not in self._under_way:
                self._looked_at[experiment_id] = now
                shell = self._shells.setdefault(experiment_id, Shell(self._services, experiment_id))
                share = None if shares is None else shares.get(experiment_id, UNKNOWN)
                self._under_way[experiment_id] = self._pool.submit(shell.look, share, at_work - shell.at_work)
        if time.monotonic() >= self._retention_due_at:
            self._retention_due_at = time.monotonic() + _RETENTION_PERIOD_SECONDS
            self._pool.submit(_tidy, self._services)


def _settled(experiment_id: str, future: Future[bool]) -> bool:
    try:
        return future.result()
    except StoreUnavailableError as error:
        log.warning("store or broker are away; looking again", experiment=experiment_id, error=str(error))
    except JQueuerError as error:
        log.error("a command failed; trying again", experiment=experiment_id, error=str(error))
    except Exception:
        log.exception("the controller failed; trying again", experiment=experiment_id)
    return False


def _tidy(services: Services) -> None:
    try:
        delete_expired(services)
    except Exception:
        log.exception("what has expired could not be deleted; trying again later")


def delete_expired(services: Services) -> int:
    """Delete ended experiments whose retention is over with all they left, and inputs nobody needs; how many."""
    before = services.experiments.now() - services.settings.retention_seconds
    deleted = offset = 0
    oldest_kept = before
    active = set(services.experiments.active())
    while records := services.experiments.page(offset=offset, limit=_RETENTION_PAGE)[0]:
        for record in records:
            if record.finished_at is not None and record.finished_at < before and record.id not in active:
                services.experiments.delete(record.id)
                services.artifacts.delete(record.id)
                deleted += 1
            else:
                oldest_kept = min(oldest_kept, record.created_at)
                offset += 1
    # Inputs are sent shortly before the experiment that names them.
    services.artifacts.delete_inputs(oldest_kept - _SUBMISSION_SECONDS)
    return deleted
