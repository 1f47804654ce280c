"""An engine that builds images and pushes them into the directory of a registry."""

from __future__ import annotations

import subprocess
from pathlib import Path
from types import TracebackType
from typing import Self

import docker

from tests.lab import slots
from tests.lab.lab import call
from tests.lab.node import tail
from tests.lab.recipes import KEY_LABEL, Recipe
from tests.lab.waiting import wait_until
from tests.ports import free_port

NAME = "jqbuild"
_START_SECONDS = 60.0


class Builder:
    """A context manager; what was built stays in `directory`, what was pushed in `registry_data`."""

    def __init__(self, directory: Path, registry_data: Path) -> None:
        self._directory = directory
        self._registry_data = registry_data
        self._registry: subprocess.Popen[bytes] | None = None
        self._registry_name = f"127.0.0.1:{free_port()}"

    def __enter__(self) -> Self:
        self._directory.mkdir(parents=True, exist_ok=True)
        self._registry_data.mkdir(parents=True, exist_ok=True)
        call(NAME, "builder-down")
        call(NAME, "builder-up", LAB_DIR=str(self._directory))
        try:
            self._start_registry()
            wait_until(self._answers, _START_SECONDS, lambda: f"no engine to build with\n{tail(self._log)}")
        except BaseException:
            self._stop()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.engine.close()
        self._stop()

    def push(self, recipe: Recipe) -> None:
        """Make the image, where it is not there yet, and put it into the registry."""
        self._ensure(recipe)
        repository, _, tag = recipe.name.partition(":")
        target = f"{self._registry_name}/{repository if '/' in repository else f'library/{repository}'}"
        image = self.engine.images.get(recipe.name)
        image.tag(target, tag)
        try:
            for step in self.engine.api.push(target, tag, stream=True, decode=True):
                if "error" in step:
                    raise docker.errors.DockerException(f"{recipe.name} cannot be pushed: {step['error']}")
        finally:
            self.engine.images.remove(f"{target}:{tag}")

    def _ensure(self, recipe: Recipe) -> None:
        try:
            there = self.engine.images.get(recipe.name).labels.get(KEY_LABEL) == recipe.key
        except docker.errors.ImageNotFound:
            there = False
        if not there:
            for needed in recipe.needs:
                self._ensure(needed)
            recipe.make(self.engine, recipe)

    @property
    def _log(self) -> Path:
        return self._directory / "log"

    def _answers(self) -> bool:
        try:
            self.engine = docker.DockerClient(base_url=f"unix://{slots.RUN_DIR}/{NAME}/B.sock", timeout=600)
        except (docker.errors.DockerException, OSError):
            return False
        return True

    def _start_registry(self) -> None:
        configuration = self._directory / "registry.yml"
        configuration.write_text(
            f"version: 0.1\nlog: {{level: warn, accesslog: {{disabled: true}}}}\n"
            f"storage: {{filesystem: {{rootdirectory: {self._registry_data}}}}}\n"
            f"http: {{addr: '{self._registry_name}'}}\n"
        )
        with (self._directory / "registry.log").open("wb") as log:
            self._registry = subprocess.Popen(["docker-registry", "serve", configuration], stdout=log, stderr=log)

    def _stop(self) -> None:
        if self._registry is not None:
            self._registry.kill()
            self._registry.wait()
        call(NAME, "builder-down")
