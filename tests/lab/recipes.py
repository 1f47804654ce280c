"""What each image of a test cluster is made of."""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import tempfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import docker

from tests.lab import busybox
from tests.lab.waiting import LabError

ROOT = Path(__file__).parents[2]
STANDINS = Path(__file__).with_name("standins")
KEY_LABEL = "jqueuer.lab.key"
"""On images: the digest of what they are made of."""

_PACKAGES = ("cautoscaler", "jqueuer", "jqueuer_agent", "jqueuer_manager")
_EXTRA_CERTIFICATES = Path("/usr/local/share/ca-certificates")
_EXECUTE = '#!/bin/sh\necho "executed: $*"\n'


@dataclass(frozen=True)
class Recipe:
    """How an image is made: `make(engine, recipe)` leaves it in the engine under its name."""

    name: str
    key: str
    make: Callable[[docker.DockerClient, Recipe], None] = field(repr=False)
    needs: tuple[Recipe, ...] = ()
    """Images that must be in the engine before."""


def recipes() -> tuple[Recipe, ...]:
    """All images of a cluster, the manager's and the agent's first: their tag is the key they have in common."""
    official = _official_names()
    base = _base()
    files = _project_files()
    manager, agent = (
        _built(f"jqueuer/{role}:{{key}}", ROOT, f"Dockerfile.{role}", {"PYTHON_IMAGE": base}, files)
        for role in ("manager", "agent")
    )
    stand_ins = [
        _built(official[repository], STANDINS, f"{short}.Dockerfile", {"PYTHON_IMAGE": base}, [f"{short}.Dockerfile"])
        for repository, short in (("rabbitmq", "rabbitmq"), ("redis", "redis"), ("prom/prometheus", "prometheus"))
    ]
    exporter = "statsd-exporter.Dockerfile"
    epidemic = ["Dockerfile", "epidemic.py", "epidemic_report.py"]
    return (
        manager,
        agent,
        *stand_ins,
        _built(official["prom/statsd-exporter"], STANDINS, exporter, {"AGENT_IMAGE": agent}, [exporter]),
        _built("jqueuer/epidemic:latest", ROOT / "experiments", "Dockerfile", {"PYTHON_IMAGE": base}, epidemic),
        _imported("busybox:latest", {}, 'CMD ["sh"]'),
        _imported("jqueuer-2018:latest", {"opt/execute.sh": _EXECUTE}, 'CMD ["sleep", "1000000"]'),
    )


def _official_names() -> dict[str, str]:
    """The images that the stack takes from registries: repository → name with its tag."""
    names = re.findall(r"^    image: ([\w./-]+:[\w.-]+)$", (ROOT / "docker-compose.yml").read_text(), re.MULTILINE)
    return {name.partition(":")[0]: name for name in names}


def _project_files() -> list[str]:
    """All that the project's own images are made of."""
    files = ["pyproject.toml", "README.md", "LICENSE", ".dockerignore", "Dockerfile.manager", "Dockerfile.agent"]
    files += [str(path.relative_to(ROOT)) for path in sorted((ROOT / "deploy").iterdir()) if path.is_file()]
    for package in _PACKAGES:
        found = sorted(
            path for path in (ROOT / package).rglob("*") if path.is_file() and "__pycache__" not in path.parts
        )
        files += [str(path.relative_to(ROOT)) for path in found]
    return files


def _built(name: str, directory: Path, dockerfile: str, needs: dict[str, Recipe], files: Iterable[str]) -> Recipe:
    """An image by a Dockerfile; `needs` are its build arguments, images all; `files` all that it reads."""
    key = _digest(*(recipe.key for recipe in needs.values()), *((directory / file).read_bytes() for file in files))

    def make(engine: docker.DockerClient, recipe: Recipe) -> None:
        arguments = {argument: needed.name for argument, needed in needs.items()}
        try:
            engine.images.build(
                path=str(directory), dockerfile=dockerfile, tag=recipe.name, buildargs=arguments, rm=True,
                labels={KEY_LABEL: key}, network_mode="host",
            )  # fmt: skip
        except docker.errors.BuildError as error:
            said = "".join(line.get("stream", "") for line in error.build_log)
            raise LabError(f"{recipe.name} cannot be built: {error.msg}\n{said[-3000:]}") from None

    return Recipe(name.format(key=key), key, make, tuple(needs.values()))


def _imported(name: str, extra: dict[str, str], *changes: str) -> Recipe:
    archive = busybox.root_filesystem(extra)
    key = _digest(archive, *changes)

    def make(engine: docker.DockerClient, recipe: Recipe) -> None:
        busybox.import_into(engine, recipe.name, archive, *changes, f"LABEL {KEY_LABEL}={key}")

    return Recipe(name, key, make)


def _base() -> Recipe:
    """Stands in for python:3.11-slim-bookworm: Debian's Python, with the certificates this machine trusts."""
    script = STANDINS / "python-base"
    certificates = sorted(_EXTRA_CERTIFICATES.rglob("*.crt")) if _EXTRA_CERTIFICATES.is_dir() else []
    key = _digest(script.read_bytes(), *(path.read_bytes() for path in certificates))

    def make(engine: docker.DockerClient, recipe: Recipe) -> None:
        repository, _, tag = recipe.name.partition(":")
        with tempfile.TemporaryDirectory(prefix="jqueuer-base-") as directory:
            archive = Path(directory) / "base.tar"
            done = subprocess.run([script, archive], capture_output=True, text=True, env=_plain(), check=False)
            if done.returncode:
                raise LabError(f"the base image cannot be made: {done.stderr[-3000:]}")
            changes = ['CMD ["python3"]', "ENV PIP_CERT=/etc/ssl/certs/ca-certificates.crt", f"LABEL {KEY_LABEL}={key}"]
            engine.api.import_image_from_file(str(archive), repository=repository, tag=tag, changes=changes)

    return Recipe(f"jqueuer-lab/python:{key}", key, make)


def _plain() -> dict[str, str]:
    return {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C.UTF-8", "TMPDIR": os.environ.get("TMPDIR", "/tmp")}


def _digest(*parts: Any) -> str:
    digest = hashlib.sha256()
    for part in parts:
        content = part if isinstance(part, bytes) else str(part).encode()
        digest.update(len(content).to_bytes(8, "big") + content)
    return digest.hexdigest()[:12]
