"""The manager node of a laboratory's Swarm for a page: root's terminal there, in a copy of the project."""

from __future__ import annotations

import shutil
import subprocess
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import docker
import yaml

from tests.docs.machine import copy_project, environment
from tests.docs.terminal import Place
from tests.lab.cluster import STACK, Cluster
from tests.lab.images import images
from tests.lab.recipes import ROOT
from tests.lab.waiting import LabError, wait_until

_SERVICE: Final = "com.docker.swarm.service.name"
_STACK: Final = {"label": f"com.docker.stack.namespace={STACK}"}
_REMOVED_SECONDS: Final = 120.0


def manager_node(cluster: Cluster, directory: Path) -> Place:
    """The place of a page. What the laboratory lacks is said in the copy's compose file; images are those it built."""
    project = copy_project(directory / "jqueuer")
    compose = project / "docker-compose.yml"
    adapted = merged(yaml.safe_load(compose.read_text()), yaml.safe_load((ROOT / "tests/lab/override.yml").read_text()))
    compose.write_text(yaml.safe_dump(adapted, sort_keys=False))
    variables = environment(
        directory / "home", project, JQUEUER_TAG=images().tag, LAB_SHARED=str(cluster.shared), USER="root"
    )
    return Place(_engine_of_first_node(cluster), project, directory / "scratch", variables)


def give_secrets(cluster: Cluster, place: Place) -> None:
    """Put the secrets of the deployed stack where `make secrets` makes them."""
    shutil.copytree(cluster.secrets, place.directory / "secrets")


def undeploy(cluster: Cluster) -> None:
    """Leave nothing of the stack on the Swarm: no experiment's service, no container, no volume."""
    for service in cluster.manager.services.list():
        if service.name.startswith(STACK):
            service.remove()  # type: ignore[no-untyped-call]
    wait_until(
        lambda: _without_containers(cluster), _REMOVED_SECONDS, lambda: "containers of the stack are still there"
    )
    subprocess.run(
        ["docker", "--host", cluster.nodes[0].docker_url, "stack", "rm", STACK], check=True, capture_output=True
    )
    wait_until(
        lambda: not cluster.manager.networks.list(filters=_STACK),
        _REMOVED_SECONDS,
        lambda: "its network is still there",
    )
    for node in cluster.nodes:
        for volume in node.docker.volumes.list(filters=_STACK):
            volume.remove()


def merged(base: Any, over: Any) -> Any:
    """One description of a stack from two, as Docker does it: mappings by their keys, the rest by the second one's."""
    if isinstance(base, dict) and isinstance(over, dict):
        return {**base, **{key: merged(base.get(key), value) for key, value in over.items()}}
    return over


def _without_containers(cluster: Cluster) -> bool:
    """Jobs that still run are not waited for, nor are those who would end them."""
    left = [one for node in cluster.nodes for one in node.docker.containers.list(all=True, filters={"label": _SERVICE})]
    for container in left:
        try:
            container.remove(force=True)
        except docker.errors.APIError:  # Swarm was quicker
            continue
    return not left


def _engine_of_first_node(cluster: Cluster) -> int:
    """The process whose namespaces are the node's: every container of it has others."""
    name = f"{cluster.lab.slot.name}{cluster.nodes[0].number}"
    found = subprocess.run(["ip", "netns", "pids", name], capture_output=True, text=True, check=True).stdout.split()
    for pid in found:
        with suppress(OSError):  # it has ended since
            if Path(f"/proc/{pid}/comm").read_text().strip() == "dockerd":
                return int(pid)
    raise LabError(f"no engine runs on {cluster.nodes[0].name}")
