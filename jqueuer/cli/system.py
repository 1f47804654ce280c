"""The whole system for as long as a command lasts, and leaving it cleanly."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

from jqueuer.cli.output import say
from jqueuer.client import ClientError
from jqueuer.embedded import Embedded


@contextmanager
def running_system(state: Path, *, host: str = "127.0.0.1", port: int = 0, farewell: str = "") -> Iterator[Embedded]:
    """Start everything, and stop it at the end.

    Interrupted once, running jobs finish and the ``farewell`` is said; twice, they are ended, to run again next time.
    A request to terminate counts as an interruption.
    """
    interruptions = _Interruptions()
    previous = {number: signal.signal(number, interruptions.another) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        system = Embedded(state, host=host, port=port)
        system.start()
        try:
            yield system
        except KeyboardInterrupt:
            say(f"leaving: running jobs finish first (Ctrl-C again: end them now){farewell and f'; {farewell}'}")
            raise
        except ClientError:
            say(f"the logs of manager and agent are in {system.state_dir / 'logs'}")
            raise
        finally:
            _stop(system, interruptions)
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)


class _Interruptions:
    """Counts them, so that a second one is not lost wherever it comes."""

    def __init__(self) -> None:
        self.count = 0

    def another(self, number: int, frame: FrameType | None) -> None:
        """The handler of the signals."""
        self.count += 1
        raise KeyboardInterrupt


def _stop(system: Embedded, interruptions: _Interruptions) -> None:
    try:
        if interruptions.count > 1:
            raise KeyboardInterrupt
        system.stop()
    except KeyboardInterrupt:
        say("ending the running jobs; they run again next time")
        system.stop(force=True)
        raise
