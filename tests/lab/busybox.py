"""A job image of 2 MB that is there in a tenth of a second: Busybox, statically linked, with all its commands."""

from __future__ import annotations

import io
import shutil
import subprocess
import tarfile
from pathlib import Path

import docker

_FILES = {
    "etc/passwd": "root:x:0:0:root:/root:/bin/sh\njobs:x:1000:1000:jobs:/home/jobs:/bin/sh\n"
    "nobody:x:65534:65534:nobody:/:/bin/false\n",
    "etc/group": "root:x:0:\njobs:x:1000:\nnogroup:x:65534:\n",
}


def root_filesystem(extra: dict[str, str] | None = None) -> bytes:
    """The image's files as a tar archive; `extra` names further executable files and what is in them."""
    found = shutil.which("busybox")
    if found is None:
        raise FileNotFoundError("no busybox here: tools/install-test-services installs busybox-static")
    commands = subprocess.run([found, "--list"], capture_output=True, text=True, check=True).stdout.split()
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for name, mode in (("bin", 0o755), ("etc", 0o755), ("opt", 0o755), ("root", 0o700), ("tmp", 0o1777)):
            archive.addfile(_entry(name, tarfile.DIRTYPE, mode))
        _add(archive, "bin/busybox", Path(found).read_bytes(), 0o755)
        for command in commands:
            if command != "busybox":
                link = _entry(f"bin/{command}", tarfile.SYMTYPE, 0o777)
                link.linkname = "busybox"
                archive.addfile(link)
        for name, text in _FILES.items():
            _add(archive, name, text.encode(), 0o644)
        for name, text in (extra or {}).items():
            _add(archive, name, text.encode(), 0o755)
    return buffer.getvalue()


def import_into(engine: docker.DockerClient, name: str, archive: bytes, *changes: str) -> None:
    """Make the image `name` ("busybox:latest") of the archive in an engine."""
    repository, _, tag = name.rpartition(":")
    engine.api.import_image(src=archive, repository=repository, tag=tag, changes=["ENV PATH=/bin", *changes])


def _entry(name: str, kind: bytes, mode: int) -> tarfile.TarInfo:
    entry = tarfile.TarInfo(name)
    entry.type, entry.mode = kind, mode
    return entry


def _add(archive: tarfile.TarFile, name: str, content: bytes, mode: int) -> None:
    entry = _entry(name, tarfile.REGTYPE, mode)
    entry.size = len(content)
    archive.addfile(entry, io.BytesIO(content))
