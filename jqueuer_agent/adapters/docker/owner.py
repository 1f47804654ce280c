"""Who runs the commands in a container, as numbers: files are laid out in this user's name."""

from __future__ import annotations

import io
import tarfile
from collections.abc import Callable
from typing import Final

from jqueuer_agent.adapters.docker.engine import Engine

_READ: Final = b"""while read -r jq_l jq_u jq_i; do
  case $jq_l in Uid:) jq_s=$jq_u ;; Gid:) jq_s="$jq_s $jq_u" ;; esac
done </proc/$$/status
echo $jq_s"""


def owner_by_shell(internal: Callable[[bytes], tuple[int, str]]) -> tuple[int, int]:
    """The shell's user and group."""
    _, written = internal(_READ)
    user, group = written.split()
    return int(user), int(group)


def owner_by_files(engine: Engine, user: str) -> tuple[int, int]:
    """The user and group that this user's name, or the image's own user, stands for; root where nobody knows."""
    name, _, group = (user or engine.inspect()["Config"].get("User") or "0").partition(":")
    passwd = _entry(engine, "/etc/passwd", name)
    number = name if name.isdecimal() else passwd[2:3][0] if len(passwd) > 3 else "0"
    if not group:
        group = passwd[3] if len(passwd) > 3 else "0"
    elif not group.isdecimal():
        entry = _entry(engine, "/etc/group", group)
        group = entry[2] if len(entry) > 2 else "0"
    return int(number), int(group)


def _entry(engine: Engine, path: str, name: str) -> list[str]:
    """The line of a name or a number in one of the user database's files."""
    try:
        archive = io.BytesIO(b"".join(engine.archive(path)))
    except FileNotFoundError:
        return []
    with tarfile.open(fileobj=archive) as opened:
        file = opened.extractfile(opened.next() or tarfile.TarInfo())
        lines = file.read().decode(errors="replace").splitlines() if file else []
    entries = [line.split(":") for line in lines]
    return next((entry for entry in entries if len(entry) > 2 and name in (entry[0], entry[2])), [])
