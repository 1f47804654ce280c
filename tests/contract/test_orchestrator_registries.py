"""Images of registries that ask for a password."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from jqueuer.errors import EngineUnavailableError
from jqueuer.model import Experiment
from tests.contract.orchestrators import (
    IMAGE,
    PLAIN,
    SECONDS,
    SwarmWorld,
    Wait,
    auth_file,
)
from tests.contract.orchestrators import lab as lab
from tests.contract.orchestrators import swarm as swarm
from tests.lab.lab import Lab

HTPASSWD = "jobs:$2b$05$i/h8qBTG1TxoHj1TliIpWOeuuFjdmU2dR0g.kS9nFbVxoEmlXt04C\n"
"""User ``jobs`` with password ``secret``."""


@contextmanager
def private_registry(lab: Lab, directory: Path) -> Iterator[str]:
    """A registry that asks for a password, at the same address on every node; its name."""
    (directory / "htpasswd").write_text(HTPASSWD)
    configuration = directory / "registry.yml"
    configuration.write_text(
        json.dumps(
            {
                "version": 0.1,
                "log": {"level": "error", "accesslog": {"disabled": True}},
                "storage": {"filesystem": {"rootdirectory": str(directory / "images")}},
                "auth": {"htpasswd": {"realm": "jobs", "path": str(directory / "htpasswd")}},
                "http": {"addr": "127.0.0.1:5001"},
            }
        )
    )
    servers = [
        subprocess.Popen(
            ["nsenter", f"--net=/run/netns/{lab.slot.name}{node.number}", "docker-registry", "serve", configuration]
        )
        for node in lab.nodes
    ]
    try:
        yield "127.0.0.1:5001"  # an engine trusts its own machine without a certificate
    finally:
        for server in servers:
            server.kill()
            server.wait()


def pushed(swarm: SwarmWorld, registry: str) -> bool:
    """Whether the image could be pushed; the registry may just be starting."""
    login = {"username": "jobs", "password": "secret"}
    swarm.api.images.get(IMAGE).tag(f"{registry}/jobs", "1")
    lines = swarm.api.images.push(f"{registry}/jobs", "1", auth_config=login, stream=True, decode=True)
    return not any("error" in line for line in lines)


def test_images_of_a_private_registry_are_pulled_by_all_nodes_with_the_managers_credentials(
    swarm: SwarmWorld, eventually: Wait, tmp_path: Path
) -> None:
    with private_registry(swarm.lab, tmp_path) as registry:
        image = f"{registry}/jobs:1"
        eventually(lambda: pushed(swarm, registry), SECONDS)
        swarm.api.images.remove(image)
        swarm.orchestrator.create("e1", Experiment(image=image), 3)
        eventually(lambda: f"No such image: {image}" in swarm.status().problem, SECONDS)
        swarm.orchestrator.destroy("e1")
        eventually(lambda: swarm.orchestrator.status("e1") is None, SECONDS)

        manager = swarm.manager(registry_auth_file=auth_file(tmp_path, registry, "jobs:secret"))
        worker_first = Experiment(image=image, placement=("node.role==worker",))
        manager.create("e1", worker_first, 2)
        eventually(lambda: len(swarm.containers()) == 2, SECONDS)
        assert swarm.status().note == ""
        found = swarm.api.services.get("jqueuer-e1").attrs["Spec"]["TaskTemplate"]["ContainerSpec"]["Image"]
        assert found.startswith(f"{image}@sha256:")
        nodes = set(swarm.containers().values())
        assert nodes == set(swarm.lab.nodes[1:])


def test_credentials_that_cannot_be_read_are_named(swarm: SwarmWorld, tmp_path: Path) -> None:
    file = tmp_path / "config.json"
    file.write_text("{")
    with pytest.raises(EngineUnavailableError, match="JQUEUER_REGISTRY_AUTH_FILE"):
        swarm.manager(registry_auth_file=file).create("e1", PLAIN, 1)
