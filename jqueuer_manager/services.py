"""What the API needs from the rest of the manager, as one value; the composition root builds it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field

from jqueuer.ports import (
    Artifacts,
    ExperimentStore,
    JobLedger,
    JobQueue,
    Orchestrator,
    Outbox,
    SessionStore,
    TokenStore,
)
from jqueuer.settings import Settings


@dataclass(frozen=True)
class Services:
    """The ports behind the API; every one is safe among threads."""

    settings: Settings
    experiments: ExperimentStore
    ledger: JobLedger
    queue: JobQueue
    orchestrator: Orchestrator
    artifacts: Artifacts
    tokens: TokenStore
    sessions: SessionStore
    outbox: Outbox
    ready: Callable[[], tuple[bool, str]]
    """Whether the manager can do its work now, and if not, why."""
    stopping: threading.Event = field(default_factory=threading.Event)
    """Set when the process is about to end: who waits for something new is let go."""
    changed: threading.Event = field(default_factory=threading.Event)
    """Set after every request that may have changed something: the control loop need not wait for its next look."""
    control_pid: Callable[[], int | None] = lambda: None
    """The control process, while there is one."""
