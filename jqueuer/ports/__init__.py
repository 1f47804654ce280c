"""The ports: what the project asks of stores, queues, orchestrators and engines.

Each says who calls it and what failure means. Adapters live in ``adapters`` packages; one contract suite in
``tests/contract`` runs against every adapter of a port. Any method may raise
:class:`~jqueuer.errors.StoreUnavailableError`; callers in loops log it and try again.
"""

from __future__ import annotations

from jqueuer.ports.access import SessionStore, TokenStore
from jqueuer.ports.artifacts import AgentArtifacts, Artifacts
from jqueuer.ports.experiments import ExperimentStore
from jqueuer.ports.jobs import JobLedger, JobQueue, Renewal
from jqueuer.ports.notifying import Outbox
from jqueuer.ports.services import ContainerHandle, ContainerRegistry, Containers, Orchestrator
from jqueuer.ports.working import Executor, Workplace, Workspace

__all__ = [
    "AgentArtifacts",
    "Artifacts",
    "ContainerHandle",
    "ContainerRegistry",
    "Containers",
    "Executor",
    "ExperimentStore",
    "JobLedger",
    "JobQueue",
    "Orchestrator",
    "Outbox",
    "Renewal",
    "SessionStore",
    "TokenStore",
    "Workplace",
    "Workspace",
]
