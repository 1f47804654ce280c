"""The end of a command's whole process tree, from outside: by scripts in execs of their own."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

from jqueuer.errors import EngineUnavailableError
from jqueuer_agent.adapters.docker import shell
from jqueuer_agent.adapters.docker.engine import Engine

_ROUNDS: Final = 5
_ROUND_SECONDS: Final = 1.0
_ROOT: Final = "0"


class Tree:
    """What belongs to the command under way."""

    def __init__(self, engine: Engine, *, user: str, runner_pid: int | None, baseline: str, own: bool) -> None:
        self._engine = engine
        self._user = user
        self._runner_pid = runner_pid
        self._baseline = baseline
        self._own = own
        self.oom_kills = 0
        """Processes killed in the container for lack of memory, ever, as the last round saw it."""

    def terminate(self) -> None:
        """SIGTERM, once; where that cannot be done, SIGKILL will have to do."""
        self._round("TERM", self._user, self._runner_pid)

    def kill(self, ended: Callable[[float], bool] | None = None, *, with_runner: bool = False) -> bool:
        """SIGKILL until nothing is left, and the runner's too if asked for; False where something cannot be ended.

        ``ended`` waits until a moment at the latest for the runner to notice, and says whether it has. In the later
        rounds root tries: a job's processes may be another user's.
        """
        runner_pid = None if with_runner else self._runner_pid
        for number in range(_ROUNDS):
            left = self._round("KILL", self._user if number % 2 == 0 else _ROOT, runner_pid)
            moment = time.monotonic() + _ROUND_SECONDS
            if ended is not None and ended(moment):
                return True
            if ended is None and left == 0:
                return True
            if ended is None:
                time.sleep(_ROUND_SECONDS / _ROUNDS)
        return False

    def _round(self, signal: str, user: str, runner_pid: int | None) -> int | None:
        """How many were left; None where that is not known."""
        text = shell.round_of(signal, runner_pid=runner_pid, baseline=self._baseline, own=self._own)
        try:
            words = self._engine.script(text, user=user).split()
        except EngineUnavailableError:
            return None
        if len(words) != 2 or not all(word.isdecimal() for word in words):  # no room left for a process, say
            return None
        left, self.oom_kills = int(words[0]), int(words[1])
        return left
