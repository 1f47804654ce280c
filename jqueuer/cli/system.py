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
    previous = signal.signal(signal.SIGTERM, _interrupt)
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
            _stop(system)
    finally:
        signal.signal(signal.SIGTERM, previous)


def _stop(system: Embedded) -> None:
    try:
        system.stop()
    except KeyboardInterrupt:
        say("ending the running jobs; they run again next time")
        system.stop(force=True)
        raise


def _interrupt(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt
