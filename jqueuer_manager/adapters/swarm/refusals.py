"""Why an experiment cannot run on this Swarm, before anything is started; pure."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping, Sequence
from typing import Any, Final

from jqueuer.labels import ADOPT, EXPERIMENT
from jqueuer.model import Experiment
from jqueuer.scheduling import Constraint, matches, parse_constraint
from jqueuer.settings import Settings
from jqueuer.units import format_size
from jqueuer_manager.adapters.swarm.facts import Machine, labels_of
from jqueuer_manager.adapters.swarm.images import image_allowed
from jqueuer_manager.adapters.swarm.spec import is_directory

_IGNORED_IN_ADOPTED: Final = ("image", "resources", "container_command", "user", "networks", "mounts", "placement")
_MIB: Final = 1024**2
_LEAST_MEMORY_BYTES: Final = 4 * _MIB
_LEAST_CORES: Final = 0.001


def not_allowed(description: Experiment, settings: Settings) -> list[str]:
    """The image, mounts and networks that the manager's settings do not open to experiments.

    Not asked for a service of the user's own (``container_name``): what runs in that, its owner has decided, who could
    label it, and so has more power over the Swarm than any experiment.
    """
    images, mounts, networks = settings.allowed_images, settings.allowed_mounts, settings.allowed_networks
    found = []
    if description.image is not None and not image_allowed(description.image, images):
        found.append(f"image {description.image!r} is not allowed here: {_may_be(images, 'JQUEUER_ALLOWED_IMAGES')}")
    found += [
        f"mount {mount.source!r} is not allowed here: {_may_be(mounts, 'JQUEUER_ALLOWED_MOUNTS')}"
        for mount in description.mounts
        if not _mount_allowed(mount.source, mounts, directory=is_directory(mount))
    ]
    found += _targets(description)
    found += [
        f"network {network!r} is not allowed here: {_may_be(networks, 'JQUEUER_ALLOWED_NETWORKS')}"
        for network in description.networks
        if network not in networks
    ]
    return found


def misplaced(description: Experiment, machines: Sequence[Machine]) -> tuple[list[str], list[str]]:
    """(why no node can ever run its containers, why none can now)."""
    constraints, faults = _constraints(description)
    if faults:
        return faults, []
    allowed = [machine for machine in machines if matches(constraints, machine.attributes)]
    if not allowed:
        wanted = " and ".join(description.placement)
        names = ", ".join(sorted(machine.name for machine in machines))
        return [f"no node meets the placement {wanted}: this Swarm has {names}"], []
    cores, memory = _reserved(description)
    fitting = [machine for machine in allowed if machine.cpu_cores >= cores and machine.memory_bytes >= memory]
    if not fitting:
        largest = max(allowed, key=lambda machine: (machine.cpu_cores, machine.memory_bytes))
        which = "node that its placement allows" if description.placement else "node"
        return [
            f"each container reserves {_size(cores, memory)}, and no {which} has as much: the largest, "
            f"{largest.name}, has {_size(largest.cpu_cores, largest.memory_bytes)}"
        ], []
    if not any(machine.usable for machine in fitting):
        names = ", ".join(sorted(machine.name for machine in fitting))
        return [], [f"the nodes that can run its containers ({names}) are down or drained now: it waits for them"]
    return [], []


def too_small(description: Experiment) -> list[str]:
    """Resources below what Swarm takes."""
    cpu, memory = description.resources.cpu, description.resources.memory
    found = [
        f"resources: {value:g} cores are less than the least that Swarm takes, {_LEAST_CORES:g}"
        for value in (cpu.reserve, cpu.limit)
        if value is not None and value < _LEAST_CORES
    ]
    found += [
        f"resources: {format_size(value)} of memory is less than the least that Swarm takes, 4MiB"
        for value in (memory.reserve, memory.limit)
        if value is not None and value < _LEAST_MEMORY_BYTES
    ]
    return found


def not_adoptable(name: str, service: Mapping[str, Any] | None) -> str:
    """Why a service may not be used as ``container_name``; empty where it may."""
    if service is None:
        return f"container_name names the service {name!r}, and there is none on this Swarm: start it first"
    if EXPERIMENT in labels_of(service):
        return f"container_name names {name!r}, which is another experiment's service"
    if labels_of(service).get(ADOPT, "").lower() != "true":
        return (
            f"container_name names the service {name!r}, which is not open to experiments: its owner allows it with "
            f"docker service update --label-add {ADOPT}=true {name}"
        )
    return ""


def ignored_when_adopted(description: Experiment) -> list[str]:
    """What of a description has no effect beside ``container_name``."""
    without = Experiment()
    ignored = [name for name in _IGNORED_IN_ADOPTED if getattr(description, name) != getattr(without, name)]
    if not ignored:
        return []
    return [
        f"{', '.join(ignored)}: without effect, as the containers are those of service {description.container_name!r}"
    ]


def _constraints(description: Experiment) -> tuple[list[Constraint], list[str]]:
    constraints, faults = list[Constraint](), list[str]()
    for text in description.placement:
        try:
            constraints.append(parse_constraint(text))
        except ValueError as error:
            faults.append(f"placement: {error}")
    return constraints, faults


def _mount_allowed(source: str, allowed: Sequence[str], *, directory: bool) -> bool:
    """Only what is named: below an allowed directory a job may have made a link that leads anywhere on the node."""
    if not directory:
        return source in allowed
    roots = {posixpath.normpath(root) for root in allowed if root.startswith("/")}
    return ".." not in source.split("/") and posixpath.normpath(source) in roots


def _targets(description: Experiment) -> list[str]:
    """Mounts in places where they would be in the way."""
    targets = [posixpath.normpath(mount.target) for mount in description.mounts]
    directory = description.working_directory or ""
    found = [f"mounts: nothing can be mounted at {target!r}" for target in targets if target == "/"]
    found += [f"mounts: two are at {target!r}" for target in sorted({one for one in targets if targets.count(one) > 1})]
    if not directory.startswith(("/", "@")):
        found += [
            f"mounts: {target!r} is where jobs have their own directories, which are emptied: "
            "mount it elsewhere, or name an absolute working_directory"
            for target in targets
            if target == "/tmp" or target.startswith("/tmp/jqueuer")  # noqa: S108 - in the container
        ]
    return found


def _may_be(allowed: Sequence[str], setting: str) -> str:
    if not allowed:
        return f"none is; who runs the manager allows some by {setting}"
    return f"allowed are {', '.join(allowed)} ({setting})"


def _reserved(description: Experiment) -> tuple[float, int]:
    return description.resources.cpu.reserve or 0.0, description.resources.memory.reserve or 0


def _size(cores: float, memory_bytes: int) -> str:
    parts = [f"{cores:g} cores" if cores else "", f"{_memory(memory_bytes)} of memory" if memory_bytes else ""]
    return " and ".join(part for part in parts if part)


def _memory(size_bytes: int) -> str:
    return format_size(size_bytes // _MIB * _MIB) if size_bytes >= _MIB else format_size(size_bytes)
