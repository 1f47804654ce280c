"""Credentials of private registries, and which image a name means."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final

from docker import auth
from docker.errors import DockerException

from jqueuer.errors import EngineUnavailableError
from jqueuer_manager.adapters.swarm.engine import Engine

_DIGEST: Final = "@sha256:"


class Credentials:
    """What a ``config.json`` of Docker's says; read at each use, so that it can be renewed."""

    def __init__(self, file: Path | None) -> None:
        self._file = file

    def header(self, image: str) -> str:
        """What nodes show the image's registry, as the engine's API takes it; empty where nothing is known of it."""
        if self._file is None:
            return ""
        try:
            known = auth.load_config(config_dict=json.loads(self._file.read_text()))
            found = known.resolve_authconfig(auth.resolve_repository_name(image)[0])
        except (OSError, ValueError, TypeError, AttributeError, DockerException) as error:
            raise EngineUnavailableError(
                f"the credentials in {self._file} (JQUEUER_REGISTRY_AUTH_FILE) cannot be used: {error}"
            ) from error
        return auth.encode_header(found).decode("ascii") if found else ""


def is_pinned(image: str) -> bool:
    """Whether the name says which bytes it means."""
    return _DIGEST in image


def pinned(engine: Engine, image: str, header: str) -> str:
    """The image's name with the digest its registry gives now, so that all nodes run the same.

    Without an answer (an image that was only built on the nodes, a registry out of reach) it is the name as it stands.
    """
    if is_pinned(image):
        return image
    try:
        found = engine.get(f"/distribution/{image}/json", auth=header)
        return f"{image}@{found['Descriptor']['digest']}"
    except (EngineUnavailableError, KeyError, TypeError):
        return image
