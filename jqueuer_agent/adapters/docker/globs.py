"""Globs over the paths of a container, where the directories are not here to be looked into; pure."""

from __future__ import annotations

import fnmatch
import glob
from collections.abc import Iterable, Iterator

ROOT = "."


def literal_part(pattern: str) -> str:
    """The path before the first part with a wildcard; the root where there is none."""
    parts: list[str] = []
    for part in pattern.split("/"):
        if glob.has_magic(part):
            break
        parts.append(part)
    return "/".join(parts) or ROOT


def outermost(paths: Iterable[str]) -> list[str]:
    """The paths that do not lie below others."""
    kept: list[str] = []
    for path in sorted(set(paths), key=lambda path: (path != ROOT, path)):
        if not any(above in (ROOT, path) or path.startswith(f"{above}/") for above in kept):
            kept.append(path)
    return kept


def matches(pattern: str, name: str) -> bool:
    """Whether a glob, in which ``**`` stands for any directories, matches a path."""
    return any(set(rest) <= {"**"} for rest in _rests(tuple(pattern.split("/")), tuple(name.split("/"))))


def rests(pattern: str, name: str) -> Iterator[str]:
    """What is left of a glob below a path that its beginning matches."""
    for rest in _rests(tuple(pattern.split("/")), tuple(name.split("/"))):
        yield "/".join(rest)


def _rests(pattern: tuple[str, ...], parts: tuple[str, ...]) -> set[tuple[str, ...]]:
    """Part by part, all that can be left of the pattern at once: no glob takes longer than its length times theirs."""
    left = {pattern}
    for part in parts:
        following = set[tuple[str, ...]]()
        for rest in left:
            while rest and rest[0] == "**":
                following.add(rest)
                rest = rest[1:]
            if rest and fnmatch.fnmatchcase(part, rest[0]):
                following.add(rest[1:])
        left = following
    return left
