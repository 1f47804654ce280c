"""Backups of the state directory of an embedded system, running or not, and new ones made of them."""

from __future__ import annotations

import contextlib
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, Final

from jqueuer.adapters.redis_store import connect
from jqueuer.adapters.redis_store.connection import StoreClient
from jqueuer.adapters.redis_store.experiments import STORE_VERSION
from jqueuer.adapters.state_directory import lock_state_directory, state_version
from jqueuer.adapters.valkey import ValkeyServer
from jqueuer.backup.archive import Archive
from jqueuer.backup.restoring import restore
from jqueuer.backup.writing import Summary, back_up
from jqueuer.errors import ConflictError, NotFoundError

_STORE: Final = "store"


def back_up_directory(state: Path, stream: BinaryIO) -> Summary:
    """Back up a system; where it does not run, its store is started for as long as that takes."""
    state = state.resolve()
    if not (state / _STORE).is_dir():
        raise NotFoundError(f"{state} holds no embedded system; name its directory with --state")
    state_version(state)
    with _store_of(state) as client:
        return back_up(client, state, stream)


def restore_directory(archive: Archive, state: Path) -> Summary:
    """Make a state directory of a backup; it is there as a whole or not at all."""
    state = state.resolve()
    if state.exists() and any(state.iterdir()):
        raise ConflictError(f"{state} is not empty: a backup is restored into a new or empty directory only")
    archive.verify(STORE_VERSION)
    state.parent.mkdir(parents=True, exist_ok=True)
    building = Path(tempfile.mkdtemp(prefix=f".{state.name}-", dir=state.parent))
    try:
        with ValkeyServer(building / _STORE) as server, connect(server.store_url) as client:
            summary = restore(archive, client, building)
        building.rename(state)
    except BaseException:
        shutil.rmtree(building, ignore_errors=True)
        raise
    return summary


@contextlib.contextmanager
def _store_of(state: Path) -> Iterator[StoreClient]:
    server = ValkeyServer(state / _STORE)
    with contextlib.ExitStack() as held:
        try:
            held.enter_context(lock_state_directory(state))
        except ConflictError:  # it runs, and its store answers
            url = f"unix://{server.socket.resolve()}?db=0"
        else:
            url = held.enter_context(server).store_url
        yield held.enter_context(connect(url))
