"""Which experiment may have how much of the cluster, worked out once per look for all of them."""

from __future__ import annotations

import time
from collections.abc import Iterable
from concurrent.futures import Executor, Future, wait
from typing import Final

import structlog

from jqueuer.errors import JQueuerError
from jqueuer.ports import Orchestrator
from jqueuer.scheduling import Demand, Node, Share, share

_NODES_SECONDS: Final = 2.0
"""So old may be what is known of the nodes."""
_PATIENCE_SECONDS: Final = 0.2
"""So long a look waits for an engine that is asked for its nodes; then it goes on with those known before."""

_Nodes = tuple[Node, ...] | None

log = structlog.get_logger()


class ClusterShares:
    """Remembers the nodes and the shares last worked out; used by the thread of the control loop."""

    def __init__(self, orchestrator: Orchestrator, pool: Executor) -> None:
        self._orchestrator = orchestrator
        self._pool = pool
        self._known = False
        self._nodes: _Nodes = None
        self._asked: Future[_Nodes] | None = None
        self._asked_at = 0.0
        self._worked_out: tuple[_Nodes, tuple[Demand, ...]] | None = None
        self._shares: dict[str, Share] = {}

    def of(self, demands: Iterable[Demand]) -> dict[str, Share] | None:
        """The shares by experiment id; None where nodes do not limit containers."""
        self._look_at_nodes()
        if not self._known:
            return {}
        if self._nodes is None:
            return None
        case = self._nodes, tuple(demands)
        if case != self._worked_out:
            self._shares, self._worked_out = share(*case), case
        return self._shares

    def _look_at_nodes(self) -> None:
        if self._asked is None and (not self._known or time.monotonic() - self._asked_at >= _NODES_SECONDS):
            self._asked_at = time.monotonic()
            self._asked = self._pool.submit(self._orchestrator.nodes)
            wait([self._asked], timeout=_PATIENCE_SECONDS)
        if self._asked is None or not self._asked.done():
            return
        try:
            self._nodes, self._known = self._asked.result(), True
        except JQueuerError as error:
            log.warning("the nodes cannot be seen; going on with those known before", error=str(error))
        except Exception:
            log.exception("the nodes cannot be seen; going on with those known before")
        self._asked = None
