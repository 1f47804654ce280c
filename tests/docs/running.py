"""Runs the scripts of a page in one surrounding, in their order."""

from __future__ import annotations

from contextlib import ExitStack, suppress
from typing import Final

from tests.docs.commands import Command, commands_of, words_of
from tests.docs.elsewhere import ELSEWHERE
from tests.docs.pages import Block, PageError, Surrounding, pages, scripts_of
from tests.docs.terminal import KeptProgram, Place, Terminal

_PATIENCE_SECONDS: Final = 600.0
"""No page takes so long; one that does hangs."""
_ELSEWHERE: Final = frozenset(words_of(entry.command) for entry in ELSEWHERE)


def scripts_in(page: str, surrounding: Surrounding) -> list[Block]:
    """The page's scripts for this surrounding, in their order."""
    return [block for block in scripts_of(page) if block.surrounding is surrounding]


def pages_in(surrounding: Surrounding) -> list[str]:
    """Pages with scripts for this surrounding; those that cannot be understood have none."""
    found = []
    for page in pages():
        with suppress(PageError):
            found += [page] if scripts_in(page, surrounding) else []
    return found


def is_run_here(command: Command) -> bool:
    """Whether a command is run with its page."""
    return command.words not in _ELSEWHERE


def run(scripts: list[Block], place: Place) -> None:
    """Type them; what they keep running is interrupted at the end, last one first, and has to end well."""
    __tracebackhide__ = True
    with ExitStack() as kept, Terminal(place, patience_seconds=_PATIENCE_SECONDS) as terminal:
        for script in scripts:
            if script.kept:
                kept.callback(KeptProgram(place, script).interrupt)
                continue
            for command in filter(is_run_here, commands_of(script)):
                terminal.run(command)
