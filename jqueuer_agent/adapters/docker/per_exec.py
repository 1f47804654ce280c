"""Commands by one exec each: for images without a shell, or where it is asked for."""

from __future__ import annotations

import contextlib
import re
import secrets
import time
from collections.abc import Callable, Sequence
from typing import Final

from jqueuer.errors import ContainerGoneError, EngineUnavailableError
from jqueuer.records import CommandResult
from jqueuer_agent.adapters.docker import outcome, shell
from jqueuer_agent.adapters.docker.engine import Engine
from jqueuer_agent.adapters.docker.runner import Write
from jqueuer_agent.adapters.docker.stream import ExecStream, StartRefusedError
from jqueuer_agent.adapters.docker.tree import Tree
from jqueuer_agent.adapters.docker.watch import StreamEndedError, Watch

_LOOK_SECONDS: Final = 0.5
_STATUS_SECONDS: Final = 10.0
_ORPHANS_SECONDS: Final = 0.5
_PAUSE_SECONDS: Final = 0.05
_KILLED_STATUS: Final = 137
_ENGINE_WORDS: Final = b"OCI runtime exec failed"
_LONGEST_WORDS_BYTES: Final = 16_384
_TROUBLES: Final = (
    ("W", re.compile(r"chdir|current working directory|\bcwd\b", re.IGNORECASE)),
    ("C", re.compile(r"executable file not found|no such file or directory", re.IGNORECASE)),
    ("X", re.compile(r"permission denied|is a directory", re.IGNORECASE)),
)


class ExecExecutor:
    """The :class:`~jqueuer.ports.Executor` of a container without a resident runner.

    Without a shell a command's tree can be ended only with its container; its result is returned, and the next call
    raises :class:`~jqueuer.errors.ContainerGoneError`. ``own`` is as for the resident runner.
    """

    def __init__(
        self,
        engine: Engine,
        *,
        user: str,
        own: bool,
        has_shell: bool,
        heartbeat_seconds: float,
        grace_seconds: float = 5.0,
    ) -> None:
        self._engine = engine
        self._user = user
        self._own = own
        self.has_shell = has_shell
        self._heartbeat = heartbeat_seconds
        self._grace = grace_seconds
        self._ended = False
        self._baseline = ""
        self._end_predecessors()
        if has_shell:
            _, self._baseline = self.internal(b"set -- /proc/[0-9]*; echo $*")
        self._known = self._processes()

    @property
    def ended(self) -> bool:
        """Whether the container had to be ended with a command."""
        return self._ended

    def run(
        self,
        argv: Sequence[str],
        *,
        environment: dict[str, str],
        working_directory: str | None,
        timeout_seconds: float | None,
        write: Write,
        keep_going: Callable[[], bool],
        role: str,
    ) -> CommandResult:
        """Run to the end, to the time-out, or until ``keep_going`` says no."""
        if self._ended:
            raise ContainerGoneError(f"container {self._engine.container_id} was ended: a job could not be")
        watch = Watch(
            self._engine, timeout_seconds=timeout_seconds, heartbeat_seconds=self._heartbeat, look_seconds=_LOOK_SECONDS
        )
        began_at = time.time()
        try:
            stream = self._engine.exec(
                argv,
                user=self._user,
                environment={**environment, shell.MARK: secrets.token_hex(4)},
                working_directory=working_directory,
            )
        except StartRefusedError as error:
            return self._refused(str(error), role, argv, working_directory)
        output = _Output(stream, write)
        with contextlib.closing(stream):
            problem, status = self._see_through(output, watch, keep_going, role)
        if status in (outcome.NOT_FOUND, outcome.NOT_EXECUTABLE) and output.refusal:
            return self._refused(output.refusal, role, argv, working_directory)
        output.flush()
        if not problem and status != 0 and self._engine.ran_out_of_memory(began_at):
            problem = outcome.memory_problem(status, self._engine.memory_limit_bytes)
        if not self._ended and not self._end_rest():
            problem = problem or (outcome.UNENDING if self.has_shell else "")
        return outcome.result(role, status, watch.seconds, problem)

    def _refused(self, words: str, role: str, argv: Sequence[str], directory: str | None) -> CommandResult:
        """The result of a command that the engine did not start; its words differ from version to version."""
        for trouble, pattern in _TROUBLES:
            if pattern.search(words):
                return outcome.not_started(role, trouble, argv, directory)
        if self._engine.is_dying():
            raise ContainerGoneError(f"container {self._engine.container_id} died before {role}")
        problem = f"cannot run {argv[0]!r}: {words.strip()}"
        return CommandResult(role=role, exit_code=outcome.NOT_EXECUTABLE, problem=problem)

    def internal(self, text: bytes) -> tuple[int, str]:
        """Have something of our own done by a shell: status and what it wrote."""
        written, _, status = self._engine.script(shell.script(text), user=self._user).rstrip().rpartition("\n")
        if not status.isdecimal():
            raise EngineUnavailableError(f"a script in container {self._engine.container_id} broke off: {status}")
        return int(status), written.strip()

    def _see_through(self, output: _Output, watch: Watch, keep_going: Callable[[], bool], role: str) -> tuple[str, int]:
        """What ended the command early, in words, and its status."""

        def is_running() -> bool:
            return self._engine.exec_state(output.exec_id).running

        problem = ""
        try:
            problem = watch.until_end(output.step, keep_going, is_running)
            if problem and not self._end_tree(output, is_running):
                self._end_container()
                return problem, _KILLED_STATUS
        except StreamEndedError:
            pass  # a child of it holds its streams open
        except BaseException:
            self._end_container_or_tree(output, is_running)
            raise
        if not watch.container_runs(keep_going):
            raise ContainerGoneError(f"container {self._engine.container_id} died while it ran {role}")
        return problem, self._status(output.exec_id)

    def _status(self, exec_id: str) -> int:
        """The engine knows it soon after the end of the streams."""
        ends_at = time.monotonic() + _STATUS_SECONDS
        while time.monotonic() < ends_at:
            state = self._engine.exec_state(exec_id)
            if not state.running and state.exit_code is not None:
                return state.exit_code
            time.sleep(_PAUSE_SECONDS)
        raise EngineUnavailableError(f"the engine does not say how a command in {self._engine.container_id} ended")

    def _tree(self) -> Tree:
        return Tree(self._engine, user=self._user, runner_pid=None, baseline=self._baseline, own=self._own)

    def _end_tree(self, output: _Output, is_running: Callable[[], bool]) -> bool:
        if not self.has_shell:
            return False

        def ended(moment: float) -> bool:
            while time.monotonic() < moment:
                if output.step(min(moment, time.monotonic() + _PAUSE_SECONDS)) or not is_running():
                    return True
            return False

        tree = self._tree()
        tree.terminate()
        return ended(time.monotonic() + self._grace) or tree.kill(ended)

    def _end_container_or_tree(self, output: _Output, is_running: Callable[[], bool]) -> None:
        try:
            if not self._end_tree(output, is_running):
                self._end_container()
        except (ContainerGoneError, EngineUnavailableError):
            self._ended = True

    def _end_rest(self) -> bool:
        """End what the command left behind; False where that took the container."""
        if self.has_shell:
            ended = self._processes() <= self._known or self._tree().kill()
            self._known = self._processes()
        else:
            ends_at = time.monotonic() + _ORPHANS_SECONDS
            while not (ended := self._processes() <= self._known) and time.monotonic() < ends_at:
                time.sleep(_PAUSE_SECONDS)
        if not ended:
            self._end_container()
        return ended

    def _processes(self) -> set[int]:
        """Where there is a shell, all: it can tell what is a job's. Else those that were adopted by the first."""
        return self._engine.processes() if self.has_shell else self._engine.orphans()

    def _end_predecessors(self) -> None:
        """End what a job of an earlier agent left running: its job may be given to us."""
        if self.has_shell:
            if self._tree().kill():
                return
        elif not self._engine.has_running_execs():
            return
        self._end_container()
        raise ContainerGoneError(f"container {self._engine.container_id} still ran a command of an earlier agent")

    def _end_container(self) -> None:
        self._ended = True
        self._engine.kill()


class _Output:
    """A command's output; words of the engine in its place, where it could not start the command, are kept apart."""

    def __init__(self, stream: ExecStream, write: Write) -> None:
        self._stream = stream
        self._write = write
        self._held: list[tuple[str, bytes]] | None = []
        self.exec_id = stream.exec_id

    @property
    def refusal(self) -> str:
        """The engine's words, if that is all that came."""
        words = b"".join(piece for _, piece in self._held or ())
        return words.decode(errors="replace") if words.startswith(_ENGINE_WORDS) else ""

    def step(self, moment: float) -> bool:
        """Pass on what comes until the moment at the latest; whether the streams have ended."""
        pieces = self._stream.receive(moment)
        for name, piece in pieces or ():
            self._take(name, piece)
        return pieces is None

    def _take(self, name: str, piece: bytes) -> None:
        if self._held is not None:
            self._held.append((name, piece))
            begun = b"".join(held for _, held in self._held)
            if begun[: len(_ENGINE_WORDS)] == _ENGINE_WORDS[: len(begun)] and len(begun) < _LONGEST_WORDS_BYTES:
                return
            self.flush()
        else:
            self._write(name, piece)

    def flush(self) -> None:
        """It was the command's own."""
        held, self._held = self._held or [], None
        for name, piece in held:
            self._write(name, piece)
