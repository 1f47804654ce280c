"""The state directory of a system: who uses it, and by which version it was written.

One that holds something but says no version was written before there were versions; it is of version 1, and differs
from one of version 2 in nothing else.
"""

from __future__ import annotations

import fcntl
import os
from pathlib import Path
from typing import IO, Final

import structlog

from jqueuer.errors import ConflictError, SettingsError

STATE_VERSION: Final = 2

_UNSAID: Final = 1
_CONTENTS: Final = ("store", "experiments", "inputs")

log = structlog.get_logger()


def open_state_directory(directory: Path) -> None:
    """Make it one of this version; :class:`SettingsError` where a newer JQueuer wrote it."""
    version = state_version(directory)
    if version == STATE_VERSION:
        return
    if version is not None:
        log.info("upgrading the state directory", directory=str(directory), version=version, to=STATE_VERSION)
    directory.mkdir(parents=True, exist_ok=True)
    part = directory / f"version.part-{os.getpid()}"
    part.write_text(f"{STATE_VERSION}\n")
    part.replace(directory / "version")


def state_version(directory: Path) -> int | None:
    """The version of what it holds, None where it holds nothing; :class:`SettingsError` where that is a newer one."""
    try:
        said = (directory / "version").read_text().strip()
    except FileNotFoundError:
        return _UNSAID if any((directory / name).exists() for name in _CONTENTS) else None
    if not said.isdecimal():
        raise SettingsError(f"{directory / 'version'} holds {said[:40]!r}; expected a number, such as {STATE_VERSION}")
    if int(said) > STATE_VERSION:
        raise SettingsError(
            f"the state directory {directory} was written by a newer JQueuer (version {said}, this one knows "
            f"{STATE_VERSION}): install that one, or restore a backup into another directory"
        )
    return int(said)


def lock_state_directory(directory: Path) -> IO[str]:
    """Keep others out until the file is closed; :class:`ConflictError` where somebody is in."""
    lock = (directory / "lock").open("a+")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        lock.seek(0)
        owner = lock.read().strip()
        lock.close()
        raise ConflictError(
            f"{directory} is in use by process {owner}: submit to it with `jqueuer submit`, "
            "or choose another directory with --state"
        ) from None
    lock.truncate(0)
    lock.write(str(os.getpid()))
    lock.flush()
    return lock
