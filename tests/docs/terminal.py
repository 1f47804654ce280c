"""Terminals of a reader: one that types command after command, others in which a program is kept running.

They live in the namespaces of a process: a page on one machine has a network of its own, one on a Swarm is on its
manager node.
"""

from __future__ import annotations

import os
import select
import signal
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from tests.docs.commands import Command
from tests.docs.pages import Block
from tests.lab.waiting import wait_until

_ENDS_BY_SECONDS: Final = 60.0
_WELL: Final = frozenset({0, 130})
"""How a program may end that is interrupted: by itself, or by that interruption, as shells report it."""

# Commands come as names of files, so that none of them can read the next from its standard input.
_READER: Final = """
exec 3<&0 4>&1 </dev/null >>"$1" 2>&1
cd "$2"
while IFS= read -r -u 3 file; do
  source "$file" 3<&- 4>&-
  echo done >&4
done
"""
_STARTER: Final = 'echo $$ >"$1"; cd "$2"; exec bash -euo pipefail "$3" </dev/null >"$4" 2>&1'


class CommandError(AssertionError):
    """A command of a page failed; says which, where, and what it printed."""


class Place:
    """Where terminals are: the namespaces of a process, a directory, an environment.

    What the tests write for themselves is in `scratch`.
    """

    def __init__(self, pid: int, directory: Path, scratch: Path, environment: Mapping[str, str]) -> None:
        self.pid = pid
        self.directory = directory
        self.scratch = scratch
        self.environment = dict(environment)
        scratch.mkdir(parents=True, exist_ok=True)

    def entering(self, *command: str | Path) -> list[str]:
        """The command, to be run there; interruptible, even where the tests themselves are not."""
        arguments = ["nsenter", "--target", str(self.pid), "--all", "env", "--default-signal=INT,QUIT"]
        return [*arguments, *map(str, command)]

    def run(self, *command: str) -> subprocess.CompletedProcess[str]:
        """Run a program there, apart from the page."""
        return subprocess.run(
            self.entering(*command), env=self.environment, stdin=subprocess.DEVNULL, capture_output=True, text=True,
            check=False,
        )  # fmt: skip


class Terminal:
    """A shell that lives as long as its page: `bash -euo pipefail`. A context manager."""

    def __init__(self, place: Place, *, patience_seconds: float) -> None:
        self._log = place.scratch / "terminal.log"
        self._log.touch()
        self._scratch = place.scratch
        self._given_up_at = time.monotonic() + patience_seconds
        self._shell = subprocess.Popen(
            place.entering("bash", "-euo", "pipefail", "-c", _READER, "bash", self._log, place.directory),
            env=place.environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            start_new_session=True,
        )  # fmt: skip

    def __enter__(self) -> Terminal:
        return self

    def __exit__(self, *_: object) -> None:
        if self._shell.poll() is None:
            os.killpg(self._shell.pid, signal.SIGKILL)
        self._shell.communicate()

    def run(self, command: Command) -> None:
        """Type a command, and wait for its end; :class:`CommandError` if it fails, or takes longer than is left."""
        __tracebackhide__ = True
        assert self._shell.stdin is not None
        assert self._shell.stdout is not None
        begin = self._log.stat().st_size
        script = self._scratch / f"{command.where.replace('/', '-')}.sh"
        script.write_text("\n" * (command.line - 1) + command.text + "\n")  # bash counts as the page does
        self._shell.stdin.write(f"{script}\n".encode())
        self._shell.stdin.flush()
        left = max(0.0, self._given_up_at - time.monotonic())
        ready, _, _ = select.select([self._shell.stdout], [], [], left)
        if not ready:
            raise CommandError(f"{command.where}: does not end: {command.text}\n{self._printed(begin)}")
        if (answer := self._shell.stdout.readline()) != b"done\n":
            status, said = self._shell.wait(), answer.decode(errors="replace") + self._printed(begin)
            raise CommandError(f"{command.where}: status {status}: {command.text}\n{said}")

    def _printed(self, begin: int) -> str:
        with self._log.open("rb") as log:
            log.seek(begin)
            return log.read().decode(errors="replace")


class KeptProgram:
    """What a block starts in a terminal of its own, until it is interrupted there."""

    def __init__(self, place: Place, block: Block) -> None:
        self._place, self._block = place, block
        name = f"kept-{block.line}"
        script, self._log, pid = (place.scratch / f"{name}.{kind}" for kind in ("sh", "log", "pid"))
        script.write_text("\n" * (block.line - 1) + block.text)
        before = _listening(place)
        starter = ("setsid", "--wait", "bash", "-c", _STARTER, "bash", pid, place.directory, script, self._log)
        self._program = subprocess.Popen(
            place.entering(*starter), env=place.environment, stdin=subprocess.DEVNULL, start_new_session=True
        )
        try:
            wait_until(lambda: self._ended() or self._answers(_listening(place) - before), 60, self._say)
            if self._ended():
                raise CommandError(f"{block.page}:{block.line}: ended at once: {block.text}{self._say()}")
            self._pid = pid.read_text().strip()
        except BaseException:
            self._program.kill()
            self._program.wait()
            raise

    def interrupt(self) -> None:
        """Type Ctrl-C; :class:`CommandError` unless it ends, and well."""
        self._place.run("kill", "-INT", "--", f"-{self._pid}")
        try:
            status = self._program.wait(_ENDS_BY_SECONDS)
        except subprocess.TimeoutExpired:
            raise CommandError(f"{self._where}: does not end on Ctrl-C: {self._block.text}{self._say()}") from None
        if status not in _WELL:
            raise CommandError(f"{self._where}: status {status} on Ctrl-C: {self._block.text}{self._say()}")

    @property
    def _where(self) -> str:
        return f"{self._block.page}:{self._block.line}"

    def _ended(self) -> bool:
        return self._program.poll() is not None

    def _answers(self, ports: set[int]) -> bool:
        """Whether one of these ports is that of a server which is ready: encrypted or not, whatever it answers."""
        return any(
            self._place.run(
                *("curl", "--silent", "--insecure", "--max-time", "5", "--output", "/dev/null"),
                *("--write-out", "%{http_code}", f"{scheme}://127.0.0.1:{port}/readyz"),
            ).stdout
            not in ("", "000", "503")
            for port in ports
            for scheme in ("http", "https")
        )

    def _say(self) -> str:
        said = self._log.read_text(errors="replace") if self._log.exists() else ""
        return f"it has not answered yet; it printed:\n{said}"


def _listening(place: Place) -> set[int]:
    """The TCP ports that are listened on there."""
    lines = [
        line for name in ("tcp", "tcp6") for line in Path(f"/proc/{place.pid}/net/{name}").read_text().splitlines()
    ]
    rows = [line.split() for line in lines]
    return {int(row[1].rpartition(":")[2], 16) for row in rows if row[3] == "0A"}
