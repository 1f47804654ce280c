"""The images of a test cluster, built here and kept between runs.

What the project builds for its users is built by its own Dockerfiles. What it takes from public registries is stood in
for by Debian's packages, under the official names: nodes look into the laboratory's registry first. Built images lie in
a registry's directory that laboratories share; an engine that builds runs only while something is to be built.
"""

from __future__ import annotations

import fcntl
import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.lab.builder import NAME, Builder
from tests.lab.recipes import recipes
from tests.lab.slots import RUN_DIR


@dataclass(frozen=True)
class Images:
    """Where the images are, and the tag of this version's manager and agent."""

    registry_data: Path
    tag: str


def cache_directory() -> Path:
    """Where images are kept between runs; may be deleted at any time."""
    home = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(home) / "jqueuer-lab"


def images() -> Images:
    """Build and push what is missing; a few milliseconds where nothing is."""
    cache = cache_directory()
    registry_data, known = cache / "registry", cache / "images.json"
    with _alone():
        pushed: dict[str, str] = json.loads(known.read_text()) if known.exists() else {}
        wanted = recipes()
        missing = [recipe for recipe in wanted if pushed.get(recipe.name) != recipe.key]
        if missing:
            with Builder(cache / "builder", registry_data) as builder:
                for recipe in missing:
                    print(f"[images] building {recipe.name}", file=sys.stderr, flush=True)  # noqa: T201
                    builder.push(recipe)
                    pushed[recipe.name] = recipe.key
                    part = known.with_suffix(".part")
                    part.write_text(json.dumps(pushed, indent=1))
                    part.replace(known)
    return Images(registry_data, tag=wanted[0].key)


@contextmanager
def _alone() -> Iterator[None]:
    """One process builds at a time; the others wait, and then find everything built."""
    RUN_DIR.mkdir(parents=True, exist_ok=True)
    with (RUN_DIR / f"{NAME}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
