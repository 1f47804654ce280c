"""Commands by a resident runner: the usual way to run a job's commands in a container."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Final

from jqueuer.errors import ContainerGoneError, EngineUnavailableError
from jqueuer.records import CommandResult
from jqueuer_agent.adapters.docker import outcome
from jqueuer_agent.adapters.docker.engine import Engine
from jqueuer_agent.adapters.docker.runner import Exchange, Report, Runner, Write
from jqueuer_agent.adapters.docker.tree import Tree
from jqueuer_agent.adapters.docker.watch import StreamEndedError, Watch

_INTERNAL_SECONDS: Final = 600.0
_LOOK_SECONDS: Final = 5.0
_LEFT_SECONDS: Final = 5.0
_LEFT_LOOK_SECONDS: Final = 0.1
_KILLED_STATUS: Final = 137
_LOST: Final = "the runner of the container's commands was killed while it ran"


class ResidentExecutor:
    """The :class:`~jqueuer.ports.Executor` of a container with a shell.

    ``own``: nothing runs in the container but what we brought, so whatever turns up during a command belongs to it.
    The constructor starts the runner; :class:`~jqueuer_agent.adapters.docker.runner.NoShellError` where it cannot.
    """

    has_shell = True

    def __init__(
        self, engine: Engine, *, user: str, own: bool, heartbeat_seconds: float, grace_seconds: float = 5.0
    ) -> None:
        self._engine = engine
        self._user = user
        self._own = own
        self._heartbeat = heartbeat_seconds
        self._grace = grace_seconds
        self._ended = False
        self._runner: Runner | None = self._start()

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
        watch = Watch(
            self._engine, timeout_seconds=timeout_seconds, heartbeat_seconds=self._heartbeat, look_seconds=_LOOK_SECONDS
        )
        runner, exchange = self._begin(list(argv), environment, working_directory, write)
        try:
            problem = watch.until_end(exchange.step, keep_going, runner.is_running)
            if problem and not self._end_tree(runner, exchange):
                self._end_container()
                return outcome.result(role, _KILLED_STATUS, watch.seconds, problem)
        except StreamEndedError:
            return self._without_runner(runner, role, watch, keep_going)
        except BaseException:  # of write or keep_going: nothing may outlive what went wrong
            self._abandon(runner)
            raise
        report = exchange.report
        assert report is not None  # noqa: S101 - it has ended
        runner.ended(exchange)
        problem = problem or self._memory_problem(runner, report)
        if report.left and not self._end_rest(runner):
            self._end_container()
            problem = problem or outcome.UNENDING
        if report.trouble and not problem:
            return outcome.not_started(role, report.trouble, argv, working_directory)
        return outcome.result(role, report.status, watch.seconds, problem)

    def internal(self, text: bytes) -> tuple[int, str]:
        """Have something of our own done by the runner: status and what it wrote. Not for what jobs bring."""
        for last in (False, True):
            runner = self._runner = self._runner or self._start()
            try:
                report, written = runner.internal(text, time.monotonic() + _INTERNAL_SECONDS)
            except StreamEndedError:
                self._abandon(runner)
                if last:
                    raise
            else:
                return report.status, written.decode(errors="replace").strip()
        raise AssertionError("one of two turns returns or raises")

    def _start(self) -> Runner:
        if self._ended:
            raise ContainerGoneError(f"container {self._engine.container_id} was ended: a job could not be")
        return Runner(self._engine, user=self._user, own=self._own)

    def _begin(
        self, argv: list[str], environment: dict[str, str], working_directory: str | None, write: Write
    ) -> tuple[Runner, Exchange]:
        runner = self._runner = self._runner or self._start()
        try:
            return runner, runner.begin(argv, environment=environment, working_directory=working_directory, write=write)
        except StreamEndedError:  # it died between two commands; this one was not begun
            self._abandon(runner)
        runner = self._runner = self._start()
        return runner, runner.begin(argv, environment=environment, working_directory=working_directory, write=write)

    def _tree(self, runner: Runner) -> Tree:
        return Tree(self._engine, user=self._user, runner_pid=runner.pid, baseline=runner.baseline, own=self._own)

    def _end_tree(self, runner: Runner, exchange: Exchange) -> bool:
        """End the command under way; whether it, and all that is its, has ended."""
        tree = self._tree(runner)
        tree.terminate()
        if exchange.until(time.monotonic() + self._grace):
            return True
        return tree.kill(exchange.until)

    def _end_rest(self, runner: Runner) -> bool:
        """What a command left behind does not die at once; whether it does in the end."""
        ends_at = time.monotonic() + _LEFT_SECONDS
        while time.monotonic() < ends_at:
            report, _ = runner.internal(b"jq_again", ends_at)
            if not report.left:
                return True
            time.sleep(_LEFT_LOOK_SECONDS)
        return self._tree(runner).kill()

    def _without_runner(self, runner: Runner, role: str, watch: Watch, keep_going: Callable[[], bool]) -> CommandResult:
        """The runner's stream has ended before its command: what of the container?"""
        runner.close()
        self._runner = None
        if not watch.container_runs(keep_going):
            raise ContainerGoneError(f"container {self._engine.container_id} died while it ran {role}")
        tree = self._tree(runner)
        if not tree.kill(with_runner=True):
            self._end_container()
        if tree.oom_kills > runner.oom_kills:
            problem = outcome.memory_problem(_KILLED_STATUS, self._engine.memory_limit_bytes)
        else:
            problem = _LOST
        return CommandResult(
            role=role, exit_code=None, seconds=round(watch.seconds, 6), problem=watch.problem or problem
        )

    def _abandon(self, runner: Runner) -> None:
        """Trust nothing about a runner any more: end it with all that is its; the next command gets a new one."""
        runner.close()
        self._runner = None
        try:
            if not self._tree(runner).kill(with_runner=True):
                self._end_container()
        except (ContainerGoneError, EngineUnavailableError):
            self._ended = True

    def _end_container(self) -> None:
        self._ended = True
        self._engine.kill()

    def _memory_problem(self, runner: Runner, report: Report) -> str:
        killed, runner.oom_kills = report.oom_kills > runner.oom_kills, report.oom_kills
        return outcome.memory_problem(report.status, self._engine.memory_limit_bytes) if killed else ""
