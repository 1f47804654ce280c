"""Starts the control process, tells it what has changed, and starts it again if it dies."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from contextlib import suppress
from typing import IO, Final, cast

import structlog

from jqueuer.adapters.processes import dying_with_parent

_LOOK_SECONDS: Final = 0.5
_AGAIN_SECONDS: Final = 1.0
_STOP_SECONDS: Final = 10.0
"""For looks and webhooks that are under way, as for requests; whoever starts next takes over what is cut short."""

log = structlog.get_logger()


class ControlProcess:
    """A thread around the child process, which cannot outlive it."""

    def __init__(self, changed: threading.Event) -> None:
        self._changed = changed
        self._begun, self._stopping = threading.Event(), threading.Event()
        self._process: subprocess.Popen[bytes] | None = None
        self._thread = threading.Thread(target=self._run, name="control-process", daemon=True)

    @property
    def pid(self) -> int | None:
        """Of the process that controls now."""
        return None if self._process is None else self._process.pid

    def start(self) -> None:
        """Start it; it loads what it needs, and waits."""
        self._thread.start()

    def begin(self) -> None:
        """Let it control."""
        self._changed.set()
        self._begun.set()

    def stop(self) -> None:
        """End it after the steps under way."""
        self._stopping.set()
        self._changed.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._stopping.is_set():
            try:
                self._process = process = _start()
            except OSError as error:  # no memory, or no process left
                log.error("the control process could not be started; trying again", error=str(error))
                self._stopping.wait(_AGAIN_SECONDS)
                continue
            self._look_after(process)
            if self._stopping.is_set():
                _see_it_end(process)
            else:
                log.error("the control process ended; starting it again", exit_code=process.returncode)
                self._changed.set()
                self._stopping.wait(_AGAIN_SECONDS)

    def _look_after(self, process: subprocess.Popen[bytes]) -> None:
        """Until it has ended, or has been told to."""
        with cast(IO[bytes], process.stdin) as told:
            os.set_blocking(told.fileno(), False)
            while process.poll() is None and not self._stopping.is_set():
                if self._begun.wait(_LOOK_SECONDS) and self._changed.wait(_LOOK_SECONDS):
                    self._changed.clear()
                    with suppress(BlockingIOError, BrokenPipeError):  # it has more than enough to read, or has died
                        told.write(b"\n")


def _start() -> subprocess.Popen[bytes]:
    """To be called by the thread that looks after it: a child dies with the thread that started it."""
    return subprocess.Popen(
        [sys.executable, "-m", "jqueuer_manager.control"],
        stdin=subprocess.PIPE,
        bufsize=0,
        preexec_fn=dying_with_parent(signal.SIGKILL),
    )


def _see_it_end(process: subprocess.Popen[bytes]) -> None:
    try:
        process.wait(_STOP_SECONDS)
    except subprocess.TimeoutExpired:
        log.error("the control process did not stop; ending it")
        process.kill()
        process.wait()
