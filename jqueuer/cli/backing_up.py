"""``backup`` and ``restore``: everything a system remembers, in one file."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, BinaryIO, Final

import typer

from jqueuer.adapters.redis_store import connect
from jqueuer.backup import Archive, Summary, back_up, back_up_directory, restore, restore_directory
from jqueuer.cli.options import examples
from jqueuer.cli.output import counted, say, size
from jqueuer.errors import JQueuerError
from jqueuer.settings import load_settings

State = Annotated[
    Path | None,
    typer.Option(
        "--state",
        metavar="DIR",
        file_okay=False,
        help="The directory of `jqueuer run` or `serve`; else the store that JQUEUER_STORE_URL names, else .jqueuer.",
    ),
]

_STREAM: Final = Path("-")


def add_commands(app: typer.Typer) -> None:
    """Add the commands of this module."""
    app.command(
        "backup",
        epilog=examples(
            "jqueuer backup before-update.tar.gz",
            "docker exec MANAGER jqueuer backup - > jqueuer.tar.gz",
        ),
    )(backup)
    app.command(
        "restore",
        epilog=examples(
            "jqueuer restore before-update.tar.gz --state restored",
            "docker exec --interactive MANAGER jqueuer restore - < jqueuer.tar.gz",
        ),
    )(restore_backup)


def backup(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Where to write it (tar.gz); - is stdout.")],
    state: State = None,
) -> None:
    """Write experiments, jobs, results, logs and inputs into one file; the system may run meanwhile."""
    directory = _directory(state)
    with _target(file) as stream:
        if directory is not None:
            summary = back_up_directory(directory, stream)
        else:
            settings = load_settings()
            with connect(settings.full_store_url, ca_file=settings.ca_file) as client:
                summary = back_up(client, settings.state_dir.resolve(), stream)
    say(f"backed up {_described(summary)}")


def restore_backup(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="What `jqueuer backup` wrote; - is stdin.")],
    state: State = None,
) -> None:
    """Bring a backup back, into a store or a state directory that is empty."""
    directory = _directory(state)
    with _source(file) as archive:
        if directory is not None:
            summary = restore_directory(archive, directory)
        else:
            settings = load_settings()
            with connect(settings.full_store_url, ca_file=settings.ca_file) as client:
                summary = restore(archive, client, settings.state_dir.resolve())
    say(f"restored {_described(summary)}; unfinished experiments go on where they were")


def _directory(state: Path | None) -> Path | None:
    """The state directory of an embedded system; None where the settings name a store."""
    if state is not None:
        return state
    settings = load_settings()
    return None if "store_url" in settings.model_fields_set else settings.state_dir


@contextmanager
def _target(file: Path) -> Iterator[BinaryIO]:
    """A stream for the backup; a file is there under its name only once it is whole, and for nobody else to read."""
    if file == _STREAM:
        if sys.stdout.isatty():
            raise JQueuerError("a backup is not for a terminal: redirect it into a file")
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    part = file.with_name(f"{file.name}.part")
    part.unlink(missing_ok=True)
    try:
        with open(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600), "wb") as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        part.replace(file)
    finally:
        part.unlink(missing_ok=True)


@contextmanager
def _source(file: Path) -> Iterator[Archive]:
    """The archive; a stream is first put into a file, because it is read twice."""
    if file != _STREAM:
        yield Archive(file)
        return
    with tempfile.NamedTemporaryFile(prefix="jqueuer-restore-") as copy:
        shutil.copyfileobj(sys.stdin.buffer, copy)
        copy.flush()
        yield Archive(Path(copy.name), "the backup")


def _described(summary: Summary) -> str:
    jobs, files = counted(summary.jobs, "job"), counted(summary.files, "file")
    return f"{counted(summary.experiments, 'experiment')} with {jobs} and {files} ({size(summary.file_bytes)})"
