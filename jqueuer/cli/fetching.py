"""Results on disk: ``jobs/<job>/<path>`` for the jobs' outputs, ``post/<path>`` for the post command's."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from jqueuer.client import Client
from jqueuer.model import POST_JOB_ID


def fetch_results(client: Client, experiment_id: str, directory: Path) -> dict[str, Any] | None:
    """Download every output, verified, and say what is there now; None where the experiment has no outputs."""
    files = list(client.download(experiment_id, directory, place=_place))
    if not files:
        return None
    post = (directory / "post").resolve()
    return {
        "directory": str(directory),
        "files": len(files),
        "post": [str(directory / "post" / path.relative_to(post)) for path in files if path.is_relative_to(post)],
    }


def _place(output: dict[str, Any]) -> tuple[str, ...]:
    if output["job"] == POST_JOB_ID:
        return ("post", output["path"])
    return ("jobs", output["job"], output["path"])
