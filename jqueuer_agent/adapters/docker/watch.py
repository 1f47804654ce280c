"""Waiting for a command's end: heartbeats, the time-out, and whether what runs it is still there."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

from jqueuer.errors import ContainerGoneError, EngineUnavailableError
from jqueuer_agent.adapters.docker.engine import Engine

_PATIENCE_SECONDS: Final = 20.0
"""How long the engine may be silent about a command: a restart of it takes a few seconds."""
_RETRY_SECONDS: Final = 0.2


class StreamEndedError(Exception):
    """A command's streams have ended, or have nobody at their other end, before anybody said how the command ended."""


class Watch:
    """One command's time."""

    def __init__(
        self, engine: Engine, *, timeout_seconds: float | None, heartbeat_seconds: float, look_seconds: float
    ) -> None:
        self._engine = engine
        self._timeout = timeout_seconds
        self._heartbeat = heartbeat_seconds
        self._look_seconds = look_seconds
        self._silent_since: float | None = None
        self._started = time.monotonic()
        self.problem = ""
        """What ended the wait before the command did, in words, or nothing."""

    @property
    def seconds(self) -> float:
        """Since the beginning."""
        return time.monotonic() - self._started

    def until_end(
        self, step: Callable[[float], bool], keep_going: Callable[[], bool], is_running: Callable[[], bool]
    ) -> str:
        """Wait; what ended the wait before the command did, in words, or nothing.

        ``step`` waits until a moment at the latest and says whether the command has ended. ``is_running`` says whether
        the engine thinks that who is to tell us of the end still runs: a child can hold its streams open when it does
        not. :class:`StreamEndedError` then.
        """
        ends_at = None if self._timeout is None else self._started + self._timeout
        next_beat, next_look = self._started + self._heartbeat, self._started + self._look_seconds
        while True:
            now = time.monotonic()
            if ends_at is not None and now >= ends_at:
                self.problem = f"timed out after {self._timeout:g} s"
                return self.problem
            if now >= next_beat:
                if not keep_going():
                    self.problem = "stopped"
                    return self.problem
                next_beat = time.monotonic() + self._heartbeat
            if now >= next_look:
                if self._has_gone(is_running) and not step(time.monotonic() + _RETRY_SECONDS):
                    raise StreamEndedError
                next_look = time.monotonic() + self._look_seconds
            if step(min(next_beat, next_look, ends_at or next_beat)):
                return ""

    def _has_gone(self, is_running: Callable[[], bool]) -> bool:
        try:
            gone = not is_running()
        except EngineUnavailableError:
            now = time.monotonic()
            self._silent_since = self._silent_since or now
            if now - self._silent_since > _PATIENCE_SECONDS:
                raise
            return False
        except ContainerGoneError:
            return True
        self._silent_since = None
        return gone

    def container_runs(self, keep_going: Callable[[], bool]) -> bool:
        """Whether the container does, once the engine answers; it may be on its way back.

        :class:`~jqueuer.errors.EngineUnavailableError` where it does not come back in time.
        """
        ends_at, next_beat = time.monotonic() + _PATIENCE_SECONDS, time.monotonic()
        while True:
            try:
                return self._engine.is_running()
            except EngineUnavailableError:
                if time.monotonic() > ends_at:
                    raise
            if time.monotonic() >= next_beat:
                keep_going()  # whatever it says: what became of the command has to be found out
                next_beat = time.monotonic() + self._heartbeat
            time.sleep(_RETRY_SECONDS)
