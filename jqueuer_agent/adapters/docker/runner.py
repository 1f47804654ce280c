"""The resident runner: a shell in the container, and the conversation with it.

One exec per command costs some thirty milliseconds of processor time; a shell that stays needs less than one. It runs
one command at a time, in the foreground, and marks the end of what the command wrote on both streams with nonces that
are made for this one command and that nobody but it and us has seen. So nothing a job writes can be taken for the end.
"""

from __future__ import annotations

import re
import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from jqueuer.errors import ContainerGoneError, EngineUnavailableError
from jqueuer_agent.adapters.docker import shell
from jqueuer_agent.adapters.docker.engine import Engine
from jqueuer_agent.adapters.docker.stream import ExecStream, StartRefusedError
from jqueuer_agent.adapters.docker.watch import StreamEndedError

_NO_SUCH_PROGRAM: Final = (126, 127)
_START_SECONDS: Final = 30.0
_NO_SHELL: Final = re.compile(r"executable file not found|no such file or directory", re.IGNORECASE)

Write = Callable[[str, bytes], None]


class NoShellError(Exception):
    """The image has no shell."""


@dataclass(frozen=True)
class Report:
    """What the runner says about a command."""

    status: int
    trouble: str
    """Why the command was not started: C, no such command; X, may not be executed; W, no working directory."""
    oom_kills: int
    """Processes killed in this container for lack of memory, ever."""
    left: bool
    """Processes it left behind could not be ended at once."""


class _Tail:
    """One stream of one command: passes on what comes before the mark, and keeps the mark."""

    def __init__(self, nonce: str) -> None:
        self._nonce = nonce.encode()
        self.mark = b""
        self._held = b""

    def feed(self, data: bytes) -> bytes:
        """What of it is the command's, as far as that can be said by now."""
        if self.mark:
            self.mark += data
            return b""
        if self._held:
            data, self._held = self._held + data, b""
        position = data.find(self._nonce)
        if position < 0:
            position = len(data) - self._begun(data[1 - len(self._nonce) :])
            self._held = data[position:]
        else:
            self.mark = data[position:]
        return data[:position]

    def _begun(self, end: bytes) -> int:
        """How many bytes at the end may be the beginning of the nonce."""
        start = end.find(self._nonce[:1])
        while start >= 0:
            if self._nonce.startswith(end[start:]):
                return len(end) - start
            start = end.find(self._nonce[:1], start + 1)
        return 0


class Exchange:
    """One command, from the moment it was sent."""

    def __init__(self, stream: ExecStream, nonces: tuple[str, str], write: Write) -> None:
        self._stream = stream
        self._write = write
        self._tails = {"stdout": _Tail(nonces[0]), "stderr": _Tail(nonces[1])}
        self._nonce = nonces[0].encode()
        self.report: Report | None = None
        self.baseline = ""
        """The processes that are there between commands, where they have changed."""

    def step(self, moment: float) -> bool:
        """Pass on what comes until the moment at the latest; whether the command has ended."""
        pieces = self._stream.receive(moment)
        if pieces is None:
            raise StreamEndedError
        for name, piece in pieces:
            if output := self._tails[name].feed(piece):
                self._write(name, output)
        if self.report is None and self._tails["stderr"].mark.endswith(b"\n"):
            self._read_mark()
        return self.report is not None

    def _read_mark(self) -> None:
        _, *lines = self._tails["stdout"].mark.split(self._nonce)
        words = lines[-1].split(b" ", 3) if lines else []
        if len(words) < 4 or not words[3].endswith(b"\n"):
            return
        status, oom_kills, left = (int(word) for word in words[:3])
        trouble = lines[0].decode().strip() if len(lines) > 1 else ""
        self.report = Report(status, trouble, oom_kills, left > 0)
        self.baseline = words[3].decode().strip()

    def until(self, moment: float) -> bool:
        """Step until it has ended or the moment has come; whether it has ended."""
        while self.report is None and time.monotonic() < moment:
            self.step(moment)
        return self.report is not None


class Runner:
    """A shell in the container that runs one command after the other."""

    def __init__(self, engine: Engine, *, user: str, own: bool) -> None:
        """Start it; :class:`NoShellError` where there is none."""
        self._engine = engine
        self.baseline = ""
        hello = bytearray()
        try:
            self._stream = engine.exec(["sh"], user=user, environment={shell.MARK: secrets.token_hex(4)}, stdin=True)
        except StartRefusedError as error:
            if _NO_SHELL.search(str(error)):
                raise NoShellError from error
            raise
        try:
            nonces = _nonces()
            exchange = Exchange(self._stream, nonces, lambda _, data: hello.extend(data))
            self._say(shell.prelude(own=own, nonces=nonces))
            if not self._finish(exchange, time.monotonic() + _START_SECONDS):
                raise EngineUnavailableError(f"the shell in container {engine.container_id} does not answer")
            self.pid = int(hello)
        except StreamEndedError:
            self.close()
            raise self._why_not_started(hello.decode(errors="replace").strip()) from None
        except BaseException:
            self.close()
            raise
        assert exchange.report is not None  # noqa: S101 - it has ended
        self.oom_kills = exchange.report.oom_kills

    def _why_not_started(self, words: str) -> Exception:
        if self._engine.exec_state(self._stream.exec_id).exit_code in _NO_SUCH_PROGRAM:
            return NoShellError()
        if not self._engine.is_running():
            return ContainerGoneError(f"container {self._engine.container_id} does not run any more")
        return EngineUnavailableError(f"no shell stays up in container {self._engine.container_id}: {words}")

    def begin(
        self, argv: list[str], *, environment: dict[str, str], working_directory: str | None, write: Write
    ) -> Exchange:
        """Have a command run."""
        nonces = _nonces()
        self._say(shell.command(argv, environment=environment, working_directory=working_directory, nonces=nonces))
        return Exchange(self._stream, nonces, write)

    def internal(self, text: bytes, moment: float) -> tuple[Report, bytes]:
        """Have something of our own done, and what it wrote."""
        nonces, written = _nonces(), bytearray()
        exchange = Exchange(self._stream, nonces, lambda _, data: written.extend(data))
        self._say(shell.internal(text, nonces))
        if not self._finish(exchange, moment):
            raise StreamEndedError
        assert exchange.report is not None  # noqa: S101 - it has ended
        return exchange.report, bytes(written)

    def ended(self, exchange: Exchange) -> None:
        """A command has ended: what its report says about the container is remembered."""
        self.baseline = exchange.baseline or self.baseline

    def is_running(self) -> bool:
        """Whether the engine says so."""
        return self._engine.exec_state(self._stream.exec_id).running

    def close(self) -> None:
        """Let go of it; it ends by itself once its command has."""
        self._stream.close()

    def _finish(self, exchange: Exchange, moment: float) -> bool:
        done = exchange.until(moment)
        self.ended(exchange)
        return done

    def _say(self, text: bytes) -> None:
        try:
            self._stream.send(text)
        except OSError:
            raise StreamEndedError from None


def _nonces() -> tuple[str, str]:
    return secrets.token_hex(16), secrets.token_hex(16)
