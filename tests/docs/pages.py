"""Reads the fenced blocks of documentation pages; what a block of `sh` needs is said in a comment before it.

    <!-- runs: swarm -->
    ```sh
    docker stack deploy -c docker-compose.yml jqueuer
    ```

Blocks of `sh` are scripts that are run, those of other languages are shown. Without a comment it is one machine where
a script runs.
"""

from __future__ import annotations

import enum
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]


class Surrounding(enum.Enum):
    """Where the scripts of a page run; the value is the word in its comment."""

    ONE_MACHINE = "one-machine"
    """A fresh copy of the project, its programs on PATH, nothing running."""
    SWARM = "swarm"
    """Root on a manager node of a Swarm, in a copy of the project, nothing deployed."""
    SWARM_UP = "swarm-up"
    """The same, with the stack deployed."""


class PageError(Exception):
    """A page cannot be understood; says where, and what was expected."""


@dataclass(frozen=True)
class Block:
    """A script of a page. `line` is that of its first command."""

    page: str
    line: int
    text: str
    surrounding: Surrounding = Surrounding.ONE_MACHINE
    kept: bool = False
    """Whether it starts, in a second terminal, what is kept running for the rest of the page."""


_FENCE = re.compile(r"^(?P<indent> *)(?P<ticks>`{3,}|~{3,})(?P<language>[^`]*)$")
_COMMENT = re.compile(r"\s*<!--\s*runs?\b")
_RUNS = {
    "one-machine": (Surrounding.ONE_MACHINE, False),
    "one-machine, kept": (Surrounding.ONE_MACHINE, True),
    "swarm": (Surrounding.SWARM, False),
    "swarm-up": (Surrounding.SWARM_UP, False),
}
_ALSO_SHELL = frozenset({"bash", "console", "shell", "shell-session", "shellsession", "terminal", "zsh"})


def pages() -> list[str]:
    """All pages of the documentation, by their paths in the project."""
    found = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md")] + [*(ROOT / "docs").glob("*.md")]
    return sorted(str(path.relative_to(ROOT)) for path in found if path.exists())


def scripts_of(page: str) -> list[Block]:
    """The scripts of a page of the project, in their order; :class:`PageError` where it cannot be understood."""
    return list(read(page, (ROOT / page).read_text()))


def read(page: str, text: str) -> Iterator[Block]:
    """The scripts in the text of a page. Its name is for messages."""
    lines = text.splitlines()
    number = 0
    while number < len(lines):
        number += 1  # counted from 1, as editors do
        if comment := _COMMENT.match(lines[number - 1]):
            runs, fence = _runs(page, number, comment), _fence_at(lines, number + 1)
            if not fence or _language(fence) != "sh":
                raise PageError(
                    f"{page}:{number}: `runs:` stands right before a block of `sh`, and the next line is none"
                )
            number += 1
        else:
            runs, fence = None, _fence_at(lines, number)
        if fence:
            first, number = number + 1, _end(page, lines, number, fence)
            if _is_script(page, first - 1, _language(fence)):
                yield _block(page, first, lines[first - 1 : number - 1], fence, runs)


def _fence_at(lines: list[str], number: int) -> re.Match[str] | None:
    return _FENCE.match(lines[number - 1]) if number <= len(lines) else None


def _language(fence: re.Match[str]) -> str:
    return (fence["language"].split() or [""])[0]


def _runs(page: str, number: int, comment: re.Match[str]) -> tuple[Surrounding, bool]:
    said = re.fullmatch(r"<!-- runs: (?P<word>.*) -->", comment.string.strip())
    if not said or said["word"] not in _RUNS:
        known = ", ".join(f"`<!-- runs: {word} -->`" for word in _RUNS)
        raise PageError(f"{page}:{number}: expected one of {known}, got `{comment.string.strip()}`")
    return _RUNS[said["word"]]


def _end(page: str, lines: list[str], start: int, fence: re.Match[str]) -> int:
    for number in range(start + 1, len(lines) + 1):
        if re.fullmatch(rf" *{fence['ticks'][0]}{{{len(fence['ticks'])},}} *", lines[number - 1]):
            return number
    raise PageError(f"{page}:{start}: this block has no end")


def _is_script(page: str, number: int, language: str) -> bool:
    if not language:
        raise PageError(f"{page}:{number}: this block names no language; `sh` is run, `text` is shown")
    if language in _ALSO_SHELL:
        raise PageError(f"{page}:{number}: a block of `{language}` is not run; `sh` is run, `text` is shown")
    return language == "sh"


def _block(
    page: str, first: int, lines: list[str], fence: re.Match[str], runs: tuple[Surrounding, bool] | None
) -> Block:
    text = "\n".join(line.removeprefix(fence["indent"]) for line in lines) + "\n"
    if not any(line.strip() and not line.lstrip().startswith("#") for line in lines):
        raise PageError(f"{page}:{first - 1}: this block of `sh` has no command")
    return Block(page, first, text, *(runs or _RUNS["one-machine"]))
