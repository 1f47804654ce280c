"""Where the manager of a local container works."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from jqueuer.model import Experiment
from jqueuer.ports import Executor, Workspace
from jqueuer.settings import Settings
from jqueuer_agent.adapters.local_executor import LocalExecutor
from jqueuer_agent.adapters.local_workspace import LocalWorkspace


@dataclass(frozen=True)
class LocalWorkplace:
    """The :class:`~jqueuer.ports.Workplace` in a directory of this machine."""

    directory: Path
    base_environment: dict[str, str]

    def open(self, experiment: Experiment, settings: Settings) -> tuple[Executor, Workspace, dict[str, str]]:
        """Commands as child processes, files in the directory."""
        return (
            LocalExecutor(heartbeat_seconds=settings.heartbeat_seconds),
            LocalWorkspace(self.directory, experiment.working_directory),
            self.base_environment,
        )
