"""Takes a script apart into its commands, each with its line, so that what fails is named."""

from __future__ import annotations

import shlex
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass

from tests.docs.pages import Block, PageError


@dataclass(frozen=True)
class Command:
    """What a shell runs as a whole: a line, or several that belong together."""

    page: str
    line: int
    text: str

    @property
    def where(self) -> str:
        """As compilers say it."""
        return f"{self.page}:{self.line}"

    @property
    def words(self) -> tuple[str, ...]:
        """Its words without comments; none where it is more than words."""
        return words_of(self.text)


def words_of(text: str) -> tuple[str, ...]:
    """A command's words without comments; none where quotes do not match for lack of a real shell."""
    try:
        return tuple(shlex.split(text, comments=True))
    except ValueError:
        return ()


def commands_of(block: Block) -> Iterator[Command]:
    """The commands of a script in their order; :class:`PageError` where it is no shell script."""
    lines = block.text.splitlines()
    start = 0
    while start < len(lines):
        if not lines[start].strip() or lines[start].lstrip().startswith("#"):
            start += 1
            continue
        end, faults = start, "?"
        while faults and end < len(lines):
            end += 1
            faults = _faults("\n".join(lines[start:end]) + "\n")
        command = Command(block.page, block.line + start, "\n".join(lines[start:end]))
        if faults:
            raise PageError(f"{command.where}: bash does not understand this: {faults}")
        yield command
        start = end


def _faults(text: str) -> str:
    """What bash has against the text: nothing once it is complete. A here-document without its end is a warning."""
    if text.endswith("\\\n"):
        return "it goes on in a line that is not there"
    checked = subprocess.run(["bash", "-n"], input=text, capture_output=True, text=True, check=False)
    return checked.stderr.strip() or ("" if checked.returncode == 0 else f"status {checked.returncode}")
