"""The agent process: ``python -m jqueuer_agent``. SIGTERM lets every container finish its job first."""

from __future__ import annotations

import multiprocessing
import os
import signal
import socket
import sys
import threading
from multiprocessing import forkserver
from pathlib import Path

from jqueuer.adapters.redis_store import RedisContainerRegistry, RedisExperimentStore, RedisJobLedger, connect
from jqueuer.errors import JQueuerError
from jqueuer.logs import configure_logging
from jqueuer.ports import ContainerHandle
from jqueuer.settings import Settings, load_settings
from jqueuer_agent.adapters.local_containers import LocalContainers
from jqueuer_agent.adapters.local_workplace import LocalWorkplace
from jqueuer_agent.container_manager import ContainerSpec, manage_container
from jqueuer_agent.updater import ContainerUpdater, ManagerProcess

_PRELOADED = [
    "jqueuer_agent.container_manager",
    "celery.app.trace",
    "celery.apps.worker",
    "celery.backends.base",
    "celery.concurrency.thread",
    "celery.events.receiver",
    "celery.worker.components",
    "celery.worker.consumer.delayed_delivery",
    "celery.worker.strategy",
    "kombu.transport.redis",
]
"""What every container manager needs, loaded once: a fork is ready in a tenth of a second."""


def main() -> int:
    """Run until told to stop."""
    configure_logging()
    try:
        settings = load_settings()
        updater = _compose(settings)
    except JQueuerError as error:
        print(f"jqueuer agent: {error}", file=sys.stderr)  # noqa: T201
        return 3
    stop = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stop.set())
    signal.signal(signal.SIGINT, lambda *_: stop.set())
    updater.run(stop, settings.updater_seconds)
    return 0


def _compose(settings: Settings) -> ContainerUpdater:
    """The composition root: every adapter of the agent is chosen here."""
    node = settings.node or socket.gethostname()
    client = connect(settings.full_store_url)
    experiments = RedisExperimentStore(client)
    ledger = RedisJobLedger(client, lease_seconds=settings.lease_seconds, max_lost_attempts=settings.max_lost_attempts)
    containers = LocalContainers(
        RedisContainerRegistry(client), settings.state_dir.resolve() / "containers", node, experiments.now
    )
    for experiment_id, container_id in containers.bury(experiments.active()):
        ledger.release(experiment_id, container_id)
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(_PRELOADED)
    forkserver.ensure_running()  # it loads while nothing is to be done yet
    environment = _base_environment()

    def start_manager(handle: ContainerHandle) -> tuple[ManagerProcess, object]:
        spec = ContainerSpec(
            id=handle.id,
            experiment_id=handle.experiment_id,
            node=node,
            workplace=LocalWorkplace(containers.directory_of(handle.id), environment),
        )
        ready = context.Event()
        process = context.Process(target=manage_container, args=(spec, settings, ready), name=handle.id)
        process.start()
        return process, ready

    return ContainerUpdater(containers, ledger, start_manager)


def _base_environment() -> dict[str, str]:
    """What local containers inherit: this environment without our settings, our Python's programs first."""
    inherited = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("JQUEUER_") or name == "JQUEUER_EMBEDDED_IN"
    }
    own_programs = str(Path(sys.executable).parent)
    return {**inherited, "PATH": f"{own_programs}:{inherited.get('PATH', os.defpath)}"}


if __name__ == "__main__":
    sys.exit(main())
