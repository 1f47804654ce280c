"""The two dialects of 2018, read unchanged: that of the paper (A) and that of the later code (B).

What their keys mean, and what we decided where they leave it open, is told in ``docs/description.md``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from pydantic import TypeAdapter

from jqueuer.descriptor.description import Description, Dialect
from jqueuer.descriptor.dialect_jobs import JobReader
from jqueuer.descriptor.dialect_values import checked, cores_of, duration, positive, whole_number
from jqueuer.descriptor.document import Document
from jqueuer.descriptor.faults import FaultList
from jqueuer.kinds import Image, ServiceName
from jqueuer.model import (
    IMAGE_OWN,
    MAX_CONTAINERS,
    ContainerLimits,
    Experiment,
    MemoryReservation,
    Policy,
    Reservation,
    Resources,
)
from jqueuer.units import parse_size, shown

Converted = TypeVar("Converted")

_OF_A = {"image_url", "service_name", "replica_min", "replica_max", "reserve_memory", "reserve_cpu"}
_OF_BOTH = {"single_task_duration", "experiment_deadline", "params", "command", "data", "jobs"}
_OF_B = {"container_name"}
_NATIVE_ONLY = (Experiment.model_fields.keys() | {"sweep"}) - _OF_B
_ESTIMATE_SECONDS = 300.0
_IMAGE, _SERVICE = TypeAdapter[str](Image), TypeAdapter[str](ServiceName)


def dialect_of(raw: dict[str, Any]) -> Dialect:
    """Which format these keys belong to; any key that only the native one has decides for it."""
    keys = raw.keys()
    if keys & _NATIVE_ONLY or not keys & (_OF_A | _OF_B | {"single_task_duration", "experiment_deadline"}):
        return "native"
    if keys & _OF_B and not keys & {"image_url", "service_name"}:
        return "2018-B"
    return "2018-A"


def read_2018(document: Document, dialect: Dialect, *, max_jobs: int) -> Description:
    """The description of a 2018 file; :class:`~jqueuer.errors.DescriptionError` with all its faults."""
    raw = document.value
    faults = FaultList()
    experiment = _Globals(raw, faults).experiment(dialect)
    reader = JobReader(raw, faults, appends_worker_id=dialect == "2018-A", max_jobs=max_jobs)
    jobs = reader.read()
    faults.raise_if_any(document.lines)
    assert experiment is not None and jobs is not None  # noqa: S101, PT018 - without faults both are there
    notices = ["a 2018 description: containers are decided by the policy 'deadline-2018', as they were then"]
    if dialect == "2018-A":
        notices.append("each task gets the id of its container as one more argument, as it did in 2018")
    unknown = sorted(raw.keys() - _OF_A - _OF_B - _OF_BOTH)
    if unknown:
        notices.append(f"keys without a meaning in a 2018 description are ignored: {', '.join(map(shown, unknown))}")
    return Description(experiment, jobs, len(jobs), (*notices, *reader.notices()), dialect)


class _Globals:
    """The keys of the top level."""

    def __init__(self, raw: dict[str, Any], faults: FaultList) -> None:
        self._raw = raw
        self._faults = faults

    def experiment(self, dialect: Dialect) -> Experiment | None:
        known_before = len(self._faults)
        image = self._take("image_url", checked(_IMAGE))
        service = self._take("container_name" if dialect == "2018-B" else "service_name", checked(_SERVICE))
        if image is None and service is None and len(self._faults) == known_before:
            self._faults.add((), "expected the image ('image_url') or the running service ('container_name') to use")
        deadline = self._take("experiment_deadline", duration)
        estimate = self._take("single_task_duration", positive(duration))
        cpu = self._take("reserve_cpu", cores_of)
        memory = self._take("reserve_memory", positive(parse_size))
        containers = self._containers()
        if containers is None or len(self._faults) > known_before:
            return None
        return Experiment(
            image=image,
            container_name=service,
            deadline=deadline or None,
            containers=containers,
            resources=Resources(cpu=Reservation(reserve=cpu), memory=MemoryReservation(reserve=memory)),
            estimate=_ESTIMATE_SECONDS if estimate is None else estimate,
            policy=Policy(name="deadline-2018"),
            append_worker_id=dialect == "2018-A",
            working_directory=IMAGE_OWN,
            container_command=IMAGE_OWN,
        )

    def _containers(self) -> ContainerLimits | None:
        known_before = len(self._faults)
        minimum = self._take("replica_min", lambda value: whole_number(value, 0, MAX_CONTAINERS))
        maximum = self._take("replica_max", lambda value: whole_number(value, 1, MAX_CONTAINERS))
        if len(self._faults) > known_before:
            return None
        minimum = 1 if minimum is None else minimum
        maximum = max(minimum, 1) if maximum is None else maximum
        if minimum > maximum:
            self._faults.add(("replica_min",), f"replica_min {minimum} is more than replica_max {maximum}")
            return None
        return ContainerLimits(min=minimum, max=maximum)

    def _take(self, key: str, convert: Callable[[Any], Converted]) -> Converted | None:
        value = self._raw.get(key)
        if value is None:
            return None
        try:
            return convert(value)
        except ValueError as error:
            self._faults.add((key,), str(error))
            return None
