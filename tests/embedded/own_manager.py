"""A manager process of a test's own, as it is started in earnest."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

Eventually = Callable[..., None]


@dataclass(frozen=True)
class OwnManager:
    """A manager that has announced where it listens."""

    url: str
    log: Path
    process: subprocess.Popen[bytes]

    @property
    def address(self) -> tuple[str, int]:
        """For those who speak to it without a client."""
        host, _, port = self.url.partition("://")[2].partition(":")
        return host, int(port)

    def words(self) -> str:
        """What it has logged so far."""
        return self.log.read_text()


@contextmanager
def own_manager(state_dir: Path, eventually: Eventually, **settings: str) -> Iterator[OwnManager]:
    """A manager with these settings (``store_url=…``) on a free port; whoever reaches it may do everything."""
    state_dir.mkdir(parents=True, exist_ok=True)
    announcement, log = state_dir / "manager.json", state_dir / "manager.log"
    environment = {
        "JQUEUER_STATE_DIR": str(state_dir),
        "JQUEUER_PORT": "0",
        "JQUEUER_AUTHENTICATION": "none",
        **{f"JQUEUER_{name.upper()}": value for name, value in settings.items()},
    }
    with log.open("wb") as output:
        process = subprocess.Popen(
            [sys.executable, "-m", "jqueuer_manager"], env=os.environ | environment, stdout=output, stderr=output
        )
    try:
        eventually(lambda: announcement.exists() or process.poll() is not None, 30)
        assert process.poll() is None, log.read_text()
        yield OwnManager(json.loads(announcement.read_text())["url"], log, process)
    finally:
        process.terminate()
        try:
            process.wait(30)
        finally:
            process.kill()
            process.wait()
