"""Where the manager of a container works: its commands and its files, by way of the node's engine."""

from __future__ import annotations

from dataclasses import dataclass

from jqueuer.errors import ContainerGoneError
from jqueuer.model import Experiment
from jqueuer.ports import Executor, Workspace
from jqueuer.settings import Settings
from jqueuer_agent.adapters.docker.engine import Engine
from jqueuer_agent.adapters.docker.per_exec import ExecExecutor
from jqueuer_agent.adapters.docker.resident import ResidentExecutor
from jqueuer_agent.adapters.docker.runner import NoShellError, Runner
from jqueuer_agent.adapters.docker.scratch import Scratch
from jqueuer_agent.adapters.docker.workspace import DockerWorkspace


@dataclass(frozen=True)
class DockerWorkplace:
    """The :class:`~jqueuer.ports.Workplace` in a container of a Docker engine."""

    container_id: str
    docker_url: str

    def open(self, experiment: Experiment, settings: Settings) -> tuple[Executor, Workspace, dict[str, str]]:
        """Commands by a resident runner, or by one exec each; the environment is the image's, so we bring none."""
        engine = Engine(self.docker_url, self.container_id, adopted=experiment.container_name is not None)
        if not engine.is_running():
            raise ContainerGoneError(f"container {self.container_id} does not run any more")
        executor = _executor(engine, experiment, settings)
        workspace = DockerWorkspace(
            engine,
            executor.internal if executor.has_shell else None,
            user=experiment.user or "",
            working_directory=experiment.working_directory,
            scratch=Scratch.take(settings.state_dir.resolve() / "scratch", self.container_id),
            limit_bytes=settings.max_output_bytes,
        )
        return executor, workspace, {}


def _executor(engine: Engine, experiment: Experiment, settings: Settings) -> ResidentExecutor | ExecExecutor:
    user, heartbeat_seconds = experiment.user or "", settings.heartbeat_seconds
    # What waits in the container is our own sleeping shell: nothing turns up there but what jobs start.
    own = experiment.container_name is None and experiment.container_command is None
    has_shell = True
    try:
        if settings.runner == "resident":
            return ResidentExecutor(engine, user=user, own=own, heartbeat_seconds=heartbeat_seconds)
        Runner(engine, user=user, own=own).close()
    except NoShellError:
        has_shell = False
    return ExecExecutor(engine, user=user, own=own, has_shell=has_shell, heartbeat_seconds=heartbeat_seconds)
