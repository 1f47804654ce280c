"""The composition root: every adapter of the manager is chosen here, for each of its two processes."""

from __future__ import annotations

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
from jqueuer.errors import StoreUnavailableError
from jqueuer.ports import ContainerRegistry, ExperimentStore, Orchestrator
from jqueuer.settings import Settings
from jqueuer.signing import MessageSigner
from jqueuer_manager.adapters.local_orchestrator import LocalOrchestrator
from jqueuer_manager.adapters.swarm import SwarmOrchestrator
from jqueuer_manager.services import Services


def compose(settings: Settings) -> Services:
    """The ports with what is behind them; connections are made when they are first needed."""
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
