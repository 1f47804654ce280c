"""Writing a backup, while the system runs or not.

Each job is caught at one instant, with its outcome and the files of its attempts; the jobs of an experiment one after
the other, and the experiments, too. What is deleted meanwhile is left out.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Final

from jqueuer.adapters.redis_store import dump
from jqueuer.adapters.redis_store.connection import StoreClient
from jqueuer.adapters.redis_store.dump import Entry
from jqueuer.adapters.redis_store.experiments import STORE_VERSION
from jqueuer.adapters.redis_store.versions import version_of
from jqueuer.backup.archive import ArchiveWriter
from jqueuer.model import POST_JOB_ID

_INPUT: Final = re.compile(r"[0-9a-f]{64}")
_ATTEMPT: Final = re.compile(r"a:([0-9]+)")
_ARRIVING: Final = ".part-"


@dataclass(slots=True)
class Summary:
    """What a backup holds, or a restore brought back."""

    experiments: int = 0
    jobs: int = 0
    files: int = 0
    file_bytes: int = 0


def back_up(client: StoreClient, artifacts: Path, stream: BinaryIO) -> Summary:
    """Write all that the store and the directory of the artifacts hold; neither is changed."""
    archive, summary, complete = ArchiveWriter(stream, version_of(client) or STORE_VERSION), Summary(), list[str]()
    for experiment_id in dump.accepted_experiments(client):
        jobs = 0
        for entries in dump.experiment_entries(client, experiment_id):
            for entry in entries:
                archive.add_line(entry.as_dict())
                if (job_id := dump.job_of(entry, experiment_id)) is not None:
                    jobs += job_id != POST_JOB_ID
                    _add_files(archive, artifacts, Path("experiments", experiment_id, job_id), entry, summary)
        if dump.is_there(client, experiment_id):
            complete.append(experiment_id)
            summary.jobs += jobs
    for entry in dump.other_entries(client, frozenset(complete)):
        archive.add_line(entry.as_dict())
    for path in sorted((artifacts / "inputs").glob("*")):
        if _INPUT.fullmatch(path.name):
            _add_file(archive, artifacts, path, summary)
    archive.finish(complete)
    summary.experiments = len(complete)
    return summary


def _add_files(archive: ArchiveWriter, artifacts: Path, job: Path, entry: Entry, summary: Summary) -> None:
    """Logs and outputs of the attempts that the job knows of."""
    for field in entry.value:
        if found := _ATTEMPT.fullmatch(field):
            for path in _files_below(artifacts / job / found[1]):
                _add_file(archive, artifacts, path, summary)


def _add_file(archive: ArchiveWriter, artifacts: Path, path: Path, summary: Summary) -> None:
    size = archive.add_file(path.relative_to(artifacts).as_posix(), path)
    if size is not None:
        summary.files += 1
        summary.file_bytes += size


def _files_below(directory: Path) -> Iterator[Path]:
    for folder, _, names in os.walk(directory):
        for name in sorted(names):
            path = Path(folder, name)
            if not name.startswith(_ARRIVING) and stat.S_ISREG(path.lstat().st_mode):
                yield path
