"""A Swarm with the project's own stack on it, as a user deploys it."""

from __future__ import annotations

import functools
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

import docker
import requests

from jqueuer.client import Client
from tests.lab.images import images
from tests.lab.lab import Lab
from tests.lab.node import Node
from tests.lab.recipes import ROOT
from tests.lab.waiting import wait_until

STACK = "jqueuer"
_COMPOSE_FILES = (ROOT / "docker-compose.yml", Path(__file__).with_name("override.yml"))
_DEPLOY_SECONDS = 180.0


class Cluster:
    """Nodes, the stack's API, and what a test may do to both."""

    def __init__(self, lab: Lab) -> None:
        self.lab = lab
        self.nodes = lab.nodes
        self.shared = lab.shared
        self.url = f"http://{self.nodes[0].address}:8081"
        self.prometheus_url = f"http://{self.nodes[0].address}:9090"
        self.secrets = lab.directory / "secrets"

    @property
    def token_file(self) -> Path:
        """The first administrator's token."""
        return self.secrets / "admin_token"

    @functools.cached_property
    def http(self) -> requests.Session:
        """An administrator's requests."""
        session = requests.Session()
        session.headers["Authorization"] = f"Bearer {self.token_file.read_text()}"
        return session

    @functools.cached_property
    def api(self) -> Client:
        """The manager's API, as an administrator."""
        return Client(self.url, token=self.token_file.read_text())

    @property
    def manager(self) -> docker.DockerClient:
        """The engine of the Swarm's manager node."""
        return self.nodes[0].docker

    def deploy(self, tag: str) -> None:
        """Deploy the stack with this version of manager and agent; again, to update it."""
        subprocess.run([ROOT / "tools" / "make-secrets", self.secrets], check=True, capture_output=True)
        files = [argument for file in _COMPOSE_FILES for argument in ("-c", str(file))]
        variables = {"JQUEUER_TAG": tag, "JQUEUER_SECRETS": str(self.secrets), "LAB_SHARED": str(self.shared)}
        self._docker("stack", "deploy", *files, STACK, environment=variables)

    def wait_ready(self, seconds: float = _DEPLOY_SECONDS) -> None:
        """Until every node is ready, every service of the stack has its containers, and the manager answers."""
        wait_until(self._is_ready, seconds, lambda: f"the stack is not ready\n{self.report()}")

    def replicas(self) -> dict[str, tuple[int, int]]:
        """Service of the stack, without its prefix → (containers that run, containers that should)."""
        counts = {}
        for service in self._services():
            spec, running = service["Spec"], service["ServiceStatus"]["RunningTasks"]
            wanted = spec["Mode"]["Replicated"]["Replicas"] if "Replicated" in spec["Mode"] else self._active_nodes()
            counts[spec["Name"].removeprefix(f"{STACK}_")] = (running, wanted)
        return counts

    def set_availability(self, node: Node, availability: Literal["active", "drain", "pause"]) -> None:
        """``docker node update --availability``."""
        self._docker("node", "update", "--availability", availability, node.name)

    def roll(self, service: str) -> None:
        """Replace the containers of one of the stack's services; returns when the new ones run."""
        self._docker("service", "update", "--force", "--quiet", "--detach=false", f"{STACK}_{service}")

    def kill_manager(self) -> None:
        """SIGKILL to all processes of JQueuer's manager."""
        label = f"com.docker.swarm.service.name={STACK}_manager"
        for container in self.manager.containers.list(filters={"label": label}):
            container.kill("SIGKILL")

    def mend_all(self) -> None:
        """Undo all that was done to nodes; returns when the cluster is whole."""
        for node in self.nodes:
            node.repair()
        self.wait_ready()

    def report(self) -> str:
        """What the stack's tasks are at, and the last words of those that failed, for a message."""
        lines = [f"{name}: {running} of {desired} run" for name, (running, desired) in self.replicas().items()]
        services = {service["ID"]: service["Spec"]["Name"] for service in self._services()}
        for task in self.manager.api.tasks():  # type: ignore[no-untyped-call]
            name, status = services.get(task["ServiceID"]), task["Status"]
            if name and status["State"] != "running":
                said = status.get("Err") or status.get("Message", "")
                lines.append(f"{name} on {task.get('NodeID', 'no node')}: {status['State']}, {said}")
        for name, (running, desired) in self.replicas().items():
            if running != desired or name == "manager":
                log = self._docker("service", "logs", "--raw", "--tail", "30", f"{STACK}_{name}", check=False)
                lines += [f"--- the log of {name}", log]
        return "\n".join(lines)

    def _is_ready(self) -> bool:
        if self.lab.ready_nodes() != {node.name for node in self.nodes}:
            return False
        counts = self.replicas()
        if not counts or any(running != desired for running, desired in counts.values()):
            return False
        try:
            return self.http.get(f"{self.url}/readyz", timeout=2).ok
        except requests.RequestException:
            return False

    def _active_nodes(self) -> int:
        return sum(node.attrs["Spec"]["Availability"] == "active" for node in self.manager.nodes.list())

    def _services(self) -> list[dict[str, Any]]:
        filters = {"label": f"com.docker.stack.namespace={STACK}"}
        return [service.attrs for service in self.manager.services.list(filters=filters, status=True)]

    def _docker(self, *arguments: str, check: bool = True, environment: dict[str, str] | None = None) -> str:
        done = subprocess.run(
            ["docker", "--host", self.nodes[0].docker_url, *arguments], env={**os.environ, **(environment or {})},
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
        )  # fmt: skip
        if check and done.returncode:
            raise docker.errors.DockerException(f"docker {' '.join(arguments)}: {done.stdout.strip()}")
        return done.stdout


@contextmanager
def cluster_of(directory: Path, *, nodes: int = 3, name: str = "", subnet: str = "") -> Iterator[Cluster]:
    """A cluster from nothing, and nothing is left of it."""
    lab = Lab(directory, nodes=nodes, name=name, subnet=subnet, registry_data=images().registry_data)
    with lab:
        yield start(lab)


def start(lab: Lab) -> Cluster:
    """Make a Swarm of a laboratory that is up, and deploy the stack on it."""
    lab.swarm()
    cluster = Cluster(lab)
    cluster.deploy(images().tag)
    cluster.wait_ready()
    return cluster
