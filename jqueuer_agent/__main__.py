"""The agent process: ``python -m jqueuer_agent``. SIGTERM lets every container finish its job first."""

from __future__ import annotations

import atexit
import contextlib
import multiprocessing
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from multiprocessing import forkserver
from pathlib import Path
from typing import TYPE_CHECKING

import requests
import structlog

from jqueuer.adapters import tls
from jqueuer.adapters.http_artifacts import PREFIX
from jqueuer.adapters.redis_store import RedisContainerRegistry, RedisExperimentStore, RedisJobLedger, connect
from jqueuer.adapters.redis_store.versions import require_current
from jqueuer.errors import EngineUnavailableError, JQueuerError, SettingsError, StoreUnavailableError
from jqueuer.logs import configure_logging
from jqueuer.ports import ContainerHandle, ContainerRegistry, ExperimentStore, Workplace
from jqueuer.settings import Settings, load_settings
from jqueuer_agent.adapters.local_containers import LocalContainers
from jqueuer_agent.adapters.local_workplace import LocalWorkplace
from jqueuer_agent.adapters.statsd_events import AgentSeen, StatsdEvents
from jqueuer_agent.container_manager import ContainerSpec, manage_container
from jqueuer_agent.pulse import Pulse
from jqueuer_agent.updater import ContainerUpdater, ManagerProcess

if TYPE_CHECKING:
    from jqueuer_agent.adapters.docker_containers import DockerContainers

_WAIT_SECONDS = 0.5
_MANAGER_SECONDS = 5.0
_NOT_LET_IN = frozenset({401, 403})

log = structlog.get_logger()


def main() -> int:
    """Run until told to stop."""
    configure_logging()
    stop = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stop.set())
    signal.signal(signal.SIGINT, lambda *_: stop.set())
    try:
        settings = load_settings()
        tls.check_ca_file(settings.ca_file)
        pulse = Pulse(settings.state_dir)
        updater = _when_all_answer(lambda: _compose(settings, pulse), pulse, stop)
    except JQueuerError as error:
        print(f"jqueuer agent: {error}", file=sys.stderr)  # noqa: T201
        return 3
    if updater is not None:
        updater.run(stop, settings.updater_seconds)
    return 0


def _when_all_answer(
    compose: Callable[[], ContainerUpdater], pulse: Pulse, stop: threading.Event
) -> ContainerUpdater | None:
    """Store and engine may start after the agent; None where it is told to stop before they have."""
    said = ""
    while not stop.is_set():
        pulse()
        try:
            return compose()
        except (StoreUnavailableError, EngineUnavailableError) as error:
            if said != type(error).__name__:
                said = type(error).__name__
                log.warning("waiting", reason=str(error))
            time.sleep(_WAIT_SECONDS)
    return None


@dataclass(frozen=True)
class _Node:
    """What differs from engine to engine."""

    name: str
    containers: LocalContainers | DockerContainers
    workplace_of: Callable[[str], Workplace]
    buried: Sequence[tuple[str, str]]
    """(experiment, container) of those that went while no agent was here."""


def _compose(settings: Settings, pulse: Pulse) -> ContainerUpdater:
    """The composition root: every adapter of the agent is chosen here."""
    client = connect(settings.full_store_url, ca_file=settings.ca_file)
    require_current(client)
    experiments, registry = RedisExperimentStore(client), RedisContainerRegistry(client)
    ledger = RedisJobLedger(client, lease_seconds=settings.lease_seconds, max_lost_attempts=settings.max_lost_attempts)
    active, wake = experiments.active(), threading.Event()
    if settings.engine == "docker":
        node = _docker_node(settings, registry, experiments, active, wake)
    else:
        node = _local_node(settings, registry, experiments, active, pulse.before)
    held = [name for name in node.buried if ledger.job_of(*name) is not None]
    together = len(held) > 1 or any(ledger.store_went_too(*name) for name in held)
    for experiment_id, container_id in node.buried:
        ledger.release(experiment_id, container_id, together=together)
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["jqueuer_agent.preloaded"])
    forkserver.ensure_running()  # it loads while nothing is to be done yet

    def start_manager(handle: ContainerHandle) -> tuple[ManagerProcess, object]:
        spec = ContainerSpec(handle.id, handle.experiment_id, node.name, node.workplace_of(handle.id))
        ready = context.Event()
        process = context.Process(target=manage_container, args=(spec, settings, ready), name=handle.id)
        process.start()
        return process, ready

    seen = AgentSeen(StatsdEvents(settings.statsd_host, settings.statsd_port), node.name)
    atexit.register(seen.farewell)

    def looked() -> None:
        pulse()
        seen()

    return ContainerUpdater(node.containers, ledger, start_manager, wake=wake, looked=looked)


def _local_node(
    settings: Settings,
    registry: ContainerRegistry,
    experiments: ExperimentStore,
    active: Sequence[str],
    agent_lived_until: float,
) -> _Node:
    name = settings.node or socket.gethostname()
    containers = LocalContainers(registry, settings.state_dir.resolve() / "containers", name, experiments.now)
    environment = _base_environment()
    _try_the_manager(settings)

    def workplace_of(container_id: str) -> Workplace:
        return LocalWorkplace(containers.directory_of(container_id), environment)

    return _Node(name, containers, workplace_of, containers.bury(active, agent_lived_until))


def _docker_node(
    settings: Settings,
    registry: ContainerRegistry,
    experiments: ExperimentStore,
    active: Sequence[str],
    wake: threading.Event,
) -> _Node:
    # Here, because an agent without an engine need not load what speaks to one.
    from jqueuer_agent.adapters.docker import DockerWorkplace
    from jqueuer_agent.adapters.docker_containers import DockerContainers
    from jqueuer_agent.adapters.docker_events import engine_name

    name = settings.node or engine_name(settings.docker_url)
    containers = DockerContainers(
        settings.docker_url,
        name,
        registry=registry,
        experiments=experiments,
        directory=settings.state_dir / "held",
        changed=wake.set,
    )

    def workplace_of(container_id: str) -> Workplace:
        return DockerWorkplace(container_id, settings.docker_url)

    with contextlib.ExitStack() as undo:
        undo.callback(containers.stop)
        containers.start()
        _try_the_manager(settings)
        node = _Node(name, containers, workplace_of, containers.bury(active))
        undo.pop_all()
    return node


def _try_the_manager(settings: Settings) -> None:
    """Raise where it lets no agent with this token in: whatever jobs would bring could never be delivered.

    Jobs that bring nothing run without a manager, so one that does not answer yet is not waited for.
    """
    if not settings.manager_url:
        return
    url = settings.manager_url.rstrip("/")
    with requests.Session() as session:
        session.trust_env = False  # or a .netrc of the machine would stand for the token
        session.verify = True if settings.ca_file is None else str(settings.ca_file)
        session.headers["Authorization"] = f"Bearer {settings.agent_token.get_secret_value()}"
        try:
            answer = session.get(f"{url}{PREFIX}/limits", timeout=_MANAGER_SECONDS, allow_redirects=False)
        except requests.RequestException as error:
            if hint := tls.hint(error):
                raise SettingsError(f"this agent does not know the manager at {url}{hint}") from None
            log.warning("logs and outputs have to wait", reason=f"the manager at {url} does not answer: {error}")
            return
    if answer.status_code in _NOT_LET_IN:
        raise SettingsError(
            f"the manager at {url} does not let this agent in ({answer.status_code}): "
            "set JQUEUER_AGENT_TOKEN to the same value for the manager and for every agent, then start the agent again"
        )
    if not answer.ok:
        log.warning("logs and outputs have to wait", reason=f"the manager at {url} answers {answer.status_code}")


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
