"""One machine for a page: a copy of the project, a network and processes of its own, and nothing left afterwards."""

from __future__ import annotations

import functools
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from tests.docs.pages import ROOT
from tests.docs.terminal import Place

_PROGRAMS: Final = {
    "setpriv": "util-linux",
    "unshare": "util-linux",
    "nsenter": "util-linux",
    "ip": "iproute2",
    "tini": "tini",
    "curl": "curl",
}
_OPEN: Final = "ip link set lo up && echo open && exec tini -s -- sleep infinity"


@functools.cache
def why_not() -> str | None:
    """The reason why no page can be run here; None where it can."""
    if sys.platform != "linux" or os.geteuid() != 0:
        return "pages are run in namespaces, which needs Linux and root: they use the default ports"
    missing = sorted({package for program, package in _PROGRAMS.items() if not shutil.which(program)})
    if missing:
        return f"to run pages needs {' '.join(missing)}: tools/install-test-services installs them on Debian"
    attempt = subprocess.run([*_apart(), "true"], capture_output=True, text=True, check=False)
    return (
        f"to run pages needs namespaces, and this kernel says: {attempt.stderr.strip()}" if attempt.returncode else None
    )


def copy_project(directory: Path) -> Path:
    """What a clone would be, in `directory`, with the programs that run now as its virtual environment."""
    ignored = (ROOT / ".gitignore").read_text().split()
    shutil.copytree(
        ROOT, directory, symlinks=True, ignore=shutil.ignore_patterns(".git", *(name.rstrip("/") for name in ignored))
    )
    environment = directory / ".venv"
    environment.mkdir()
    for part in Path(sys.prefix).iterdir():
        if part.name != ".installed":
            (environment / part.name).symlink_to(part)
    (environment / ".installed").touch()  # `make` has nothing to install
    return directory


def environment(home: Path, project: Path, **more: str) -> dict[str, str]:
    """A reader's variables: none of those that tests or this machine happen to have."""
    home.mkdir(parents=True, exist_ok=True)
    path = f"{project / '.venv' / 'bin'}:{os.environ['PATH']}:/usr/sbin:/sbin"
    return {"PATH": path, "HOME": str(home), "LANG": "C.UTF-8", **more}


@contextmanager
def one_machine(directory: Path) -> Iterator[Place]:
    """A machine with nothing on it but the project; all its processes end with it."""
    project = copy_project(directory / "jqueuer")
    holder = subprocess.Popen([*_apart(), "sh", "-c", _OPEN], stdout=subprocess.PIPE, start_new_session=True)
    assert holder.stdout is not None
    try:
        assert holder.stdout.readline() == b"open\n", "no network of its own"
        (first,) = Path(f"/proc/{holder.pid}/task/{holder.pid}/children").read_text().split()
        yield Place(int(first), project, directory / "scratch", environment(directory / "home", project))
    finally:
        holder.kill()
        holder.communicate()


def _apart() -> list[str]:
    """What starts a program in namespaces of its own; all there ends with the tests, also where these are killed."""
    return [
        "setpriv",
        "--pdeathsig",
        "KILL",
        "unshare",
        "--net",
        "--mount",
        "--pid",
        "--fork",
        "--kill-child",
        "--mount-proc",
    ]
