"""Restoring a backup into an empty store and an empty directory of artifacts.

The archive is read twice: first to the end, to see that it is whole, and only then is anything written. Nothing of it
is seen before all of it is there; what fails on the way is removed again.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from jqueuer.adapters.redis_store import dump, rebuilding
from jqueuer.adapters.redis_store.connection import StoreClient
from jqueuer.adapters.redis_store.dump import Entry
from jqueuer.adapters.redis_store.experiments import ACTIVE, EXPERIMENTS, RECEIVING, STORE_VERSION
from jqueuer.adapters.redis_store.versions import run_step, upgrade, version_of
from jqueuer.adapters.state_directory import open_state_directory, state_version
from jqueuer.backup.archive import STORE, Archive, Contents, Member
from jqueuer.backup.writing import Summary
from jqueuer.errors import BackupError, ConflictError, StoreUnavailableError
from jqueuer.model import POST_JOB_ID

_EXPERIMENTS: Final = "experiments"
_BATCH: Final = 500
_KINDS: Final = f"{dump.KEYS}kind:"
_IDEMPOTENCY_KEYS: Final = f"{dump.KEYS}key:"


def restore(archive: Archive, client: StoreClient, artifacts: Path) -> Summary:
    """Bring everything back; the system goes on with it at once, or when it is started.

    :class:`~jqueuer.errors.BackupError` where the archive is no good, :class:`~jqueuer.errors.ConflictError` where
    something is there already.
    """
    contents = archive.verify(STORE_VERSION)
    _refuse_unless_empty(client, artifacts)
    upgrade(client)
    open_state_directory(artifacts)
    if contents.experiments:
        client.sadd(RECEIVING, *contents.experiments)
    restoring = _Restoring(archive, contents, client, artifacts)
    try:
        restoring.load()
        for version in range(contents.store_version, STORE_VERSION):
            run_step(client, version)
        for experiment_id in contents.experiments:
            rebuilding.rebuild(client, experiment_id)
        _give_to_owner(artifacts)
        rebuilding.publish(client, contents.experiments, sorted(restoring.active))
    except BaseException:
        restoring.undo()
        raise
    restoring.summary.experiments = len(contents.experiments)
    return restoring.summary


class _Restoring:
    """What is under way."""

    def __init__(self, archive: Archive, contents: Contents, client: StoreClient, artifacts: Path) -> None:
        self._archive, self._client, self._artifacts = archive, client, artifacts
        self._experiments = frozenset(contents.experiments)
        self._written: list[Path] = []
        self.active: set[str] = set()
        """Experiments that were not settled."""
        self.summary = Summary()

    def load(self) -> None:
        """Write entries and files as they are."""
        for member in self._archive.members():
            if STORE.fullmatch(member.name):
                self._load_entries(member)
            elif member.name.startswith("inputs/") or self._is_wanted(member.name):
                self._write(member)

    def undo(self) -> None:
        """Remove what was written, and nothing of what was submitted meanwhile."""
        for path in self._written:
            path.unlink(missing_ok=True)
        for experiment_id in self._experiments:
            shutil.rmtree(self._artifacts / _EXPERIMENTS / experiment_id, ignore_errors=True)
        with contextlib.suppress(OSError):  # others are in it
            (self._artifacts / _EXPERIMENTS).rmdir()
        with contextlib.suppress(StoreUnavailableError):  # then the next start of a manager removes it
            rebuilding.discard(self._client, sorted(self._experiments))

    def _is_wanted(self, name: str) -> bool:
        return name.startswith(f"{_EXPERIMENTS}/") and name.split("/")[1] in self._experiments

    def _load_entries(self, member: Member) -> None:
        batch = list[Entry]()
        for line in member.content:
            batch.extend(self._chosen(self._entry(line)))
            if len(batch) >= _BATCH:
                dump.load(self._client, batch)
                batch.clear()
        dump.load(self._client, batch)

    def _entry(self, line: bytes) -> Entry:
        try:
            return Entry(**json.loads(line))
        except (TypeError, ValueError) as error:
            raise BackupError(f"{self._archive.name} holds an entry of no known form: {error}") from None

    def _chosen(self, entry: Entry) -> Iterator[Entry]:
        """The entry, or what is left of it without experiments that were deleted during the backup."""
        if entry.key == ACTIVE:
            self.active.update(self._experiments.intersection(entry.value))
        elif entry.key.startswith(_IDEMPOTENCY_KEYS):
            if entry.value.rpartition(" ")[2] in self._experiments:
                yield entry
        elif entry.key.startswith(_KINDS):
            if ids := [one for one in entry.value if one in self._experiments]:
                yield Entry(entry.key, entry.type, ids, entry.first, entry.expires_at_ms)
        elif entry.key.startswith(dump.OF_EXPERIMENTS):
            experiment_id = entry.key.removeprefix(dump.OF_EXPERIMENTS).partition(":")[0]
            if experiment_id in self._experiments:
                self.summary.jobs += dump.job_of(entry, experiment_id) not in (None, POST_JOB_ID)
                yield entry
        else:
            yield entry

    def _write(self, member: Member) -> None:
        path = self._artifacts / member.name
        if path.exists():  # an input, known by its checksum
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("xb") as file:
            if not member.name.startswith(f"{_EXPERIMENTS}/"):
                self._written.append(path)
            shutil.copyfileobj(member.content, file)
        os.utime(path, (member.mtime, member.mtime))
        self.summary.files += 1
        self.summary.file_bytes += member.size


def _refuse_unless_empty(client: StoreClient, artifacts: Path) -> None:
    version_of(client)
    state_version(artifacts)
    if client.zcard(EXPERIMENTS):
        raise ConflictError("the store holds experiments already: a backup is restored into an empty one only")
    if client.scard(RECEIVING):
        raise ConflictError(
            "the store holds an experiment that is being received, or what a restore that was cut short left: "
            "try again later, or restart the manager, which clears that away"
        )
    if any((artifacts / _EXPERIMENTS).glob("*")):
        raise ConflictError(f"{artifacts / _EXPERIMENTS} holds files already: move it away, then restore")


def _give_to_owner(artifacts: Path) -> None:
    """Root, as whom commands in the manager's container run, leaves no files that the manager cannot change."""
    owner = artifacts.stat()
    if os.geteuid() != 0 or owner.st_uid == 0:
        return
    for top in (_EXPERIMENTS, "inputs"):
        for folder, _, names in os.walk(artifacts / top):
            for path in (folder, *(os.path.join(folder, name) for name in names)):
                os.chown(path, owner.st_uid, owner.st_gid, follow_symlinks=False)
