"""Images that jobs meet: a shell of Busybox, Debian's own shell, and no shell at all."""

from __future__ import annotations

import io
import shutil
import tarfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from docker.models.containers import Container

from tests.lab import busybox
from tests.lab.lab import Lab
from tests.lab.node import Node

SLEEP: Final = ("/bin/sh", "-c", "while :; do sleep 86400 & wait $!; done")
MEMORY: Final = "64m"
_EMPTY: Final = ("dev", "etc", "proc", "root", "sys", "usr", "usr/bin", "var")


@dataclass(frozen=True)
class JobImage:
    """An image, how to say something to a shell in it, and how to call a program by name."""

    name: str
    command: tuple[str, ...] = SLEEP
    shell: tuple[str, ...] = ("sh", "-c")
    call: str = ""
    """What stands before the name of a program: ``/bin/busybox `` where it has no name of its own."""
    init: bool = True
    volumes: dict[str, dict[str, str]] = field(default_factory=dict)

    def start(self, node: Node, **options: object) -> Container:
        """A container of it, waiting for jobs."""
        return node.docker.containers.run(
            self.name,
            list(self.command),
            **{"detach": True, "init": self.init, "network_mode": "none", "mem_limit": MEMORY,
               "memswap_limit": MEMORY, "volumes": self.volumes, **options},
        )  # type: ignore[call-overload,no-any-return]  # fmt: skip


BUSYBOX = JobImage("busybox:latest")
DEBIAN = JobImage(  # without an init of the engine's: its place is below what is mounted here
    "debian-like:latest", init=False, volumes={"/usr": {"bind": "/usr", "mode": "ro"}}
)
BARE = JobImage(
    "bare:latest",
    command=("/bin/busybox", "sleep", "86400"),
    shell=("/bin/busybox", "sh", "-c"),
    call="/bin/busybox ",
)


def bring_all(lab: Lab, node: Node) -> None:
    """All of them, into a node's engine."""
    lab.busybox(node)
    busybox.import_into(node.docker, DEBIAN.name, _filesystem(links=("bin", "sbin", "lib", "lib64")), "ENV PATH=/bin")
    busybox.import_into(node.docker, BARE.name, _filesystem(binary=Path(shutil.which("busybox") or "")))


def _filesystem(links: tuple[str, ...] = (), binary: Path | None = None) -> bytes:
    """A root of next to nothing: all in the machine's own /usr, or one program."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for name in (*_EMPTY, "tmp"):
            entry = tarfile.TarInfo(name)
            entry.type, entry.mode = tarfile.DIRTYPE, 0o1777 if name == "tmp" else 0o755
            archive.addfile(entry)
        for name in links:
            entry = tarfile.TarInfo(name)
            entry.type, entry.linkname = tarfile.SYMTYPE, f"usr/{name}"
            archive.addfile(entry)
        entry = tarfile.TarInfo("etc/passwd")
        content = b"root:x:0:0:root:/root:/bin/sh\njobs:x:1000:1001:jobs:/:/bin/sh\n"
        entry.size, entry.mode = len(content), 0o644
        archive.addfile(entry, io.BytesIO(content))
        if binary is not None:
            archive.add(binary, "bin/busybox")
    return buffer.getvalue()
