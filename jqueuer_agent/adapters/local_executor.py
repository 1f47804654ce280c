"""Commands as child processes of the container manager: what a local container runs."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
import time
from collections.abc import Callable, Sequence
from typing import IO, Final

from jqueuer.adapters.processes import end_descendants
from jqueuer.records import CommandResult

_READ_BYTES: Final = 65_536
_NOT_FOUND: Final = 127
_NOT_EXECUTABLE: Final = 126
_POLL_WITHOUT_PIDFD_MS: Final = 20


class LocalExecutor:
    """The :class:`~jqueuer.ports.Executor` of local containers.

    The calling process must have adopted its orphans, so that a command's whole tree can be found and ended.
    """

    def __init__(self, *, heartbeat_seconds: float, grace_seconds: float = 5.0) -> None:
        self._heartbeat = heartbeat_seconds
        self._grace = grace_seconds

    @property
    def ended(self) -> bool:
        """Never: here every command can be ended alone."""
        return False

    def run(
        self,
        argv: Sequence[str],
        *,
        environment: dict[str, str],
        working_directory: str | None,
        timeout_seconds: float | None,
        write: Callable[[str, bytes], None],
        keep_going: Callable[[], bool],
        role: str,
    ) -> CommandResult:
        """Run to the end, to the time-out, or until ``keep_going`` says no."""
        started = time.monotonic()
        try:
            process = subprocess.Popen(
                argv,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env=environment,
                cwd=working_directory,
                start_new_session=True,
                bufsize=0,
            )
        except OSError as error:
            return _not_started(role, argv, working_directory, error)
        watch = _Watch(process, write, started, timeout_seconds, self._heartbeat)
        try:
            problem = self._see_through(process, watch, keep_going)
            watch.drain()
        finally:
            watch.close()
            process.__exit__(None, None, None)  # reaps it and closes its pipes
            end_descendants()
        status = process.returncode
        return CommandResult(
            role=role,
            exit_code=status if status >= 0 else None,
            signal=-status if status < 0 else None,
            seconds=round(time.monotonic() - started, 6),
            problem=problem,
        )

    def _see_through(self, process: subprocess.Popen[bytes], watch: _Watch, keep_going: Callable[[], bool]) -> str:
        try:
            problem = watch.until_exit(keep_going)
            if problem:
                _signal_group(process, signal.SIGTERM)
                watch.until_exit_or(time.monotonic() + self._grace)
            return problem
        finally:
            # Not reaped yet, so the group cannot belong to anybody else; and nothing may outlive what went wrong.
            _signal_group(process, signal.SIGKILL)


class _Watch:
    """Waits for a process while passing on what it writes."""

    def __init__(
        self,
        process: subprocess.Popen[bytes],
        write: Callable[[str, bytes], None],
        started: float,
        timeout_seconds: float | None,
        heartbeat_seconds: float,
    ) -> None:
        self._process = process
        self._write = write
        self._heartbeat = heartbeat_seconds
        self._timeout = timeout_seconds
        self._ends_at = started + timeout_seconds if timeout_seconds is not None else None
        self._poll = select.poll()
        self._streams: dict[int, str] = {}
        for name, pipe in (("stdout", process.stdout), ("stderr", process.stderr)):
            descriptor = _descriptor(pipe)
            os.set_blocking(descriptor, False)
            self._streams[descriptor] = name
            self._poll.register(descriptor, select.POLLIN)
        self._pidfd = os.pidfd_open(process.pid) if hasattr(os, "pidfd_open") else None
        if self._pidfd is not None:
            self._poll.register(self._pidfd, select.POLLIN)

    def until_exit(self, keep_going: Callable[[], bool]) -> str:
        """Wait; what ended the wait before the process did, in words, or nothing."""
        next_beat = time.monotonic() + self._heartbeat
        while True:
            now = time.monotonic()
            if self._ends_at is not None and now >= self._ends_at:
                return f"timed out after {self._timeout:g} s"
            if now >= next_beat:
                if not keep_going():
                    return "stopped"
                next_beat = time.monotonic() + self._heartbeat
            if self._step(min(next_beat, self._ends_at or next_beat)):
                return ""

    def until_exit_or(self, moment: float) -> None:
        """Wait, but not beyond a moment."""
        while time.monotonic() < moment and not self._step(moment):
            pass

    def _step(self, moment: float) -> bool:
        wait_ms = max(0.0, (moment - time.monotonic()) * 1000)
        if self._pidfd is None:
            wait_ms = min(wait_ms, _POLL_WITHOUT_PIDFD_MS)
        ended = False
        for descriptor, _ in self._poll.poll(wait_ms + 1):
            if descriptor == self._pidfd:
                ended = True
            else:
                self._read(descriptor)
        return ended or (self._pidfd is None and _has_exited(self._process.pid))

    def drain(self) -> None:
        """Pass on what is still in the pipes; a background child that holds them open is not waited for."""
        for descriptor in list(self._streams):
            while self._read(descriptor):
                pass

    def _read(self, descriptor: int) -> bool:
        try:
            data = os.read(descriptor, _READ_BYTES)
        except BlockingIOError:
            return False
        if data:
            self._write(self._streams[descriptor], data)
            return True
        with contextlib.suppress(KeyError):
            self._poll.unregister(descriptor)
        return False

    def close(self) -> None:
        """Give the descriptor of the process back."""
        if self._pidfd is not None:
            os.close(self._pidfd)


def _descriptor(pipe: IO[bytes] | None) -> int:
    assert pipe is not None  # noqa: S101 - the process was started with pipes
    return pipe.fileno()


def _has_exited(pid: int) -> bool:
    return os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None


def _signal_group(process: subprocess.Popen[bytes], number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, number)


def _not_started(role: str, argv: Sequence[str], directory: str | None, error: OSError) -> CommandResult:
    if isinstance(error, FileNotFoundError) and directory is not None and not os.path.isdir(directory):
        return CommandResult(role=role, exit_code=_NOT_FOUND, problem=f"there is no working directory {directory!r}")
    if isinstance(error, FileNotFoundError):
        return CommandResult(role=role, exit_code=_NOT_FOUND, problem=f"command not found: {argv[0]!r}")
    return CommandResult(role=role, exit_code=_NOT_EXECUTABLE, problem=f"cannot run {argv[0]!r}: {error.strerror}")
