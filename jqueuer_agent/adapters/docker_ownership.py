"""Whom the engine's containers work for, which of them are given up, and which experiments have trouble."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from jqueuer.errors import NotFoundError
from jqueuer.labels import EXPERIMENT
from jqueuer.ports import ContainerRegistry, ExperimentStore

SERVICE: Final = "com.docker.swarm.service.name"
"""What Swarm labels the containers of its services with."""

_FIRST_PAUSE_SECONDS: Final = 0.2
_LONGEST_PAUSE_SECONDS: Final = 30.0


@dataclass(frozen=True)
class _About:
    """What the store says about an experiment; neither known nor deleted is one that was never here."""

    created_at: float = 0.0
    container_name: str = ""
    known: bool = False
    deleted: bool = False


class StoreView:
    """What the store says about containers, read now and then by one thread and looked at by another."""

    def __init__(self, registry: ContainerRegistry, experiments: ExperimentStore) -> None:
        self._registry = registry
        self._experiments = experiments
        self._remembered: dict[str, _About] = {}
        self.adopting: Mapping[str, str] = {}
        """By service: the experiment that runs its jobs in it, the oldest of those that asked for it."""
        self.marked: frozenset[str] = frozenset()
        """Containers that the orchestrator gave up, on whatever node."""

    def read(self) -> None:
        """Read it anew."""
        requested, active = self._registry.requested(), set(self._experiments.active())
        self._remembered = {
            name: about for name, about in self._remembered.copy().items() if about.known and name in active
        }
        adopters = sorted(
            (about.created_at, experiment_id, about.container_name)
            for experiment_id, containers in requested.items()
            if containers
            for about in [self._about(experiment_id)]
            if about.container_name
        )
        self.adopting = {service: experiment_id for _, experiment_id, service in reversed(adopters)}
        concerned = requested.keys() | {name for name, about in self._remembered.copy().items() if about.known}
        self.marked = frozenset().union(*(self._registry.draining(experiment_id) for experiment_id in concerned))

    def owner(self, labels: Mapping[str, str]) -> tuple[str, str]:
        """(experiment, the user's service it adopted) of a container; empty where it is none of ours.

        An experiment that this store never knew belongs to somebody else's JQueuer.
        """
        if labelled := labels.get(EXPERIMENT):
            about = self._about(labelled)
            return (labelled, "") if about.known or about.deleted else ("", "")
        service = labels.get(SERVICE, "")
        experiment_id = self.adopting.get(service, "")
        return (experiment_id, service) if experiment_id else ("", "")

    def outlived(self, labels: Mapping[str, str]) -> bool:
        """Whether the container is left from an experiment that was deleted, its node or agent being away."""
        labelled = labels.get(EXPERIMENT, "")
        return bool(labelled) and self._about(labelled).deleted

    def _about(self, experiment_id: str) -> _About:
        about = self._remembered.get(experiment_id)
        if about is None:
            try:
                record = self._experiments.get(experiment_id)
                about = _About(record.created_at, record.description.container_name or "", known=True)
            except NotFoundError:
                about = _About(deleted=self._experiments.was_deleted(experiment_id))
            self._remembered[experiment_id] = about
        return about


@dataclass
class _Trouble:
    pause_seconds: float
    not_before: float


class Troubles:
    """Experiments whose containers end before they can take jobs: each time the next ones wait longer."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._by_experiment: dict[str, _Trouble] = {}

    def another(self, experiment_id: str) -> None:
        """A container ended so; of those that end within one pause only the first counts."""
        now, trouble = self._now(), self._by_experiment.get(experiment_id)
        if trouble is None:
            self._by_experiment[experiment_id] = _Trouble(_FIRST_PAUSE_SECONDS, now + _FIRST_PAUSE_SECONDS)
        elif now >= trouble.not_before:
            trouble.pause_seconds = min(_LONGEST_PAUSE_SECONDS, 2 * trouble.pause_seconds)
            trouble.not_before = now + trouble.pause_seconds

    def over(self, experiment_id: str) -> None:
        """A container takes jobs."""
        self._by_experiment.pop(experiment_id, None)

    def hold_back(self, experiment_id: str) -> bool:
        """Whether a new container is not to be worked in yet."""
        trouble = self._by_experiment.get(experiment_id)
        return trouble is not None and self._now() < trouble.not_before
