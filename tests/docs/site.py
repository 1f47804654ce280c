"""The site of the documentation, built as `make docs` does."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def build(directory: Path, site: Path) -> subprocess.CompletedProcess[str]:
    """The site of the project in a directory."""
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--config-file", directory / "mkdocs.yml"]
    quiet = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    return subprocess.run([*command, "--site-dir", site], env=quiet, capture_output=True, text=True, check=False)
