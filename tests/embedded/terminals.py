"""A command of ours on a terminal of its own, as a person has one."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import termios
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress

import pytest

_STEERING = re.compile(rb"\x1b\[[0-9;?]*[A-Za-z]")
_PROGRAM = "from jqueuer.cli import main; main()"


class Terminal:
    """What a command draws on a terminal of this size, and the keyboard in front of it."""

    def __init__(self, arguments: tuple[str, ...], environment: dict[str, str], columns: int, rows: int) -> None:
        self._keyboard, screen = pty.openpty()
        fcntl.ioctl(screen, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        self.process = subprocess.Popen(
            [sys.executable, "-c", _PROGRAM, *arguments],
            **dict.fromkeys(("stdin", "stdout", "stderr"), screen),
            env={**os.environ, "TERM": "xterm-256color", "PYTHONIOENCODING": "utf-8", **environment},
            start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
        )
        os.close(screen)
        self._drawn = bytearray()
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def _read(self) -> None:
        with suppress(OSError):  # nobody draws on it any more
            while drawn := os.read(self._keyboard, 65536):
                self._drawn += drawn

    @property
    def raw(self) -> bytes:
        """All that was sent to it."""
        return bytes(self._drawn)

    @property
    def text(self) -> str:
        """All that was ever drawn on it, one picture after the other."""
        return _STEERING.sub(b"", self.raw).decode()

    def press_ctrl_c(self) -> None:
        os.write(self._keyboard, b"\x03")

    def ended(self) -> int:
        """The exit code, once everything is drawn."""
        code = self.process.wait(60)
        self._reader.join(60)
        return code

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        self._reader.join()
        os.close(self._keyboard)


Open = Callable[..., Terminal]


@pytest.fixture
def on_terminal() -> Iterator[Open]:
    """Run the command line on a terminal; whatever is left is killed at the end."""
    opened: list[Terminal] = []

    def run(*arguments: str, environment: dict[str, str], columns: int = 100, rows: int = 40) -> Terminal:
        opened.append(Terminal(arguments, environment, columns, rows))
        return opened[-1]

    yield run
    for terminal in opened:
        terminal.close()
