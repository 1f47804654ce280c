"""From a description to the specification of a Swarm service; pure."""

from __future__ import annotations

from typing import Any, Final

from jqueuer.labels import EXPERIMENT, STOP_SIGNAL, service_name
from jqueuer.model import IMAGE_OWN, Experiment, Mount, Resources
from jqueuer.settings import Settings

SLEEP: Final = ("/bin/sh", "-c", "while :; do sleep 86400 & wait $!; done")
"""What a container runs while it waits for jobs. Waiting in the background, the shell still hears SIGTERM."""

_NANO: Final = 1_000_000_000
RESTART_DELAY_SECONDS: Final = 1.0
"""A container that died is replaced after so long: at once for a person, and still no hot loop where an image's
command ends as soon as it is started. There is no limit of attempts: what was mended comes back by itself."""


def service_spec(
    experiment_id: str, description: Experiment, containers: int, settings: Settings, *, image: str
) -> dict[str, Any]:
    """The service of an experiment, as Swarm's API takes it; `image` is the description's, pinned where it could be.

    No virtual address (nobody connects to the service), and a stop signal that nobody minds: see
    :data:`jqueuer.labels.STOP_SIGNAL`.
    """
    labels = {EXPERIMENT: experiment_id}
    container: dict[str, Any] = {
        "Image": image,
        "Labels": labels,
        "Init": True,
        "StopSignal": STOP_SIGNAL,
        "StopGracePeriod": int(settings.drain_seconds * _NANO),
    }
    if description.container_command != IMAGE_OWN:
        container["Command"] = list(description.container_command or SLEEP)
        container["Healthcheck"] = {"Test": ["NONE"]}  # the image's asks for the image's command, which does not run
    if description.user is not None:
        container["User"] = description.user
    if description.mounts:
        container["Mounts"] = [_mount(mount) for mount in description.mounts]
    task: dict[str, Any] = {
        "ContainerSpec": container,
        "RestartPolicy": {"Condition": "any", "Delay": int(RESTART_DELAY_SECONDS * _NANO), "MaxAttempts": 0},
    }
    if resources := _resources(description.resources):
        task["Resources"] = resources
    if description.placement:
        task["Placement"] = {"Constraints": list(description.placement)}
    if description.networks:
        task["Networks"] = [{"Target": network} for network in description.networks]
    return {
        "Name": service_name(experiment_id),
        "Labels": labels,
        "TaskTemplate": task,
        "Mode": {"Replicated": {"Replicas": containers}},
        "EndpointSpec": {"Mode": "dnsrr"},
    }


def is_directory(mount: Mount) -> bool:
    """Whether a directory of the node is mounted, not a volume."""
    return mount.source.startswith("/")


def _mount(mount: Mount) -> dict[str, Any]:
    kind = "bind" if is_directory(mount) else "volume"
    return {"Type": kind, "Source": mount.source, "Target": mount.target, "ReadOnly": mount.read_only}


def _resources(resources: Resources) -> dict[str, Any]:
    cpu, memory = resources.cpu, resources.memory
    parts = {
        "Reservations": _amounts(cpu.reserve, memory.reserve),
        "Limits": _amounts(cpu.limit, memory.limit),
    }
    return {name: amounts for name, amounts in parts.items() if amounts}


def _amounts(cores: float | None, memory_bytes: int | None) -> dict[str, int]:
    amounts = {}
    if cores is not None:
        amounts["NanoCPUs"] = round(cores * _NANO)
    if memory_bytes is not None:
        amounts["MemoryBytes"] = memory_bytes
    return amounts
