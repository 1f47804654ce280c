"""Writing fetched outputs: never outside the directory, never half a file, never with the wrong content."""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Iterable
from pathlib import Path, PurePosixPath

from jqueuer.errors import JQueuerError


class DownloadError(JQueuerError):
    """An output cannot be written as it was described."""


def inside(directory: Path, *parts: str) -> Path:
    """The path of these parts below a directory; :class:`DownloadError` where they lead out of it."""
    for part in parts:
        path = PurePosixPath(part)
        if not part or "\0" in part or "\\" in part or path.is_absolute() or ".." in path.parts:
            raise DownloadError(f"{part!r} is not a path below the directory for downloads")
    root = directory.resolve()
    target = root.joinpath(*parts)
    if not target.resolve().is_relative_to(root):
        raise DownloadError(f"{target} leads out of {root} by a symbolic link")
    return target


def has_content(path: Path, sha256: str) -> bool:
    """Whether the file is there already."""
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest() == sha256


def write_verified(path: Path, chunks: Iterable[bytes], sha256: str) -> None:
    """Write a file and give it its name once its checksum is right; :class:`DownloadError` where it is not."""
    path.parent.mkdir(parents=True, exist_ok=True)
    digest = hashlib.sha256()
    with tempfile.NamedTemporaryFile(dir=path.parent, prefix=".jqueuer-", delete=False) as file:
        try:
            for chunk in chunks:
                digest.update(chunk)
                file.write(chunk)
            file.close()
            if digest.hexdigest() != sha256:
                raise DownloadError(f"{path.name}: what was received has SHA-256 {digest.hexdigest()}, not {sha256}")
            Path(file.name).chmod(0o644)
            Path(file.name).replace(path)
        except BaseException:
            Path(file.name).unlink(missing_ok=True)
            raise
