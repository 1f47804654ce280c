"""How a picture is put together: sections with labels beside or above them; and in ASCII, where there is no more."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.padding import Padding
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

LABEL_WIDTH: Final = 12
NARROW: Final = 60
"""Below this width labels stand above what they name."""

_ASCII: Final = {
    **dict(zip(map(ord, "█▓✗▒░■□◌▪━─┃│"), "#>x~.@o+-=-||", strict=True)),
    **dict(zip(map(ord, "·–…×’“”\N{NO-BREAK SPACE}"), '--~x\'"" ', strict=True)),
}
"""Each has one character, so that nothing moves."""


class Section(NamedTuple):
    """A labelled part of a picture."""

    label: str
    lines: Sequence[RenderableType]


def content_width(width: int) -> int:
    """How wide a section's lines may be."""
    return width - LABEL_WIDTH if width >= NARROW else width - 2


def framed(head: RenderableType, sections: Sequence[Section], width: int, *, spaced: bool = False) -> RenderableType:
    """The head, then the sections that have something to say, with empty lines between them if wanted."""
    parts: list[RenderableType] = [head]
    for section in sections:
        if not section.lines:
            continue
        if spaced:
            parts.append(Text())
        if width >= NARROW:
            grid = Table.grid(padding=0)
            grid.add_column(width=LABEL_WIDTH)
            grid.add_column(width=content_width(width), overflow="fold")
            grid.add_row(Text(section.label, style="dim"), Group(*section.lines))
            parts.append(grid)
        else:
            parts += [
                *([Text(section.label, style="dim")] if section.label else []),
                Padding(Group(*section.lines), (0, 0, 0, 2)),
            ]
    return Group(*parts)


def cut(text: str, width: int) -> str:
    """Not more than so many columns; what is left out is marked."""
    if cell_len(text) <= width:
        return text
    while cell_len(text) > width - 1:
        text = text[:-1]
    return text.rstrip() + "…"


class InAscii:
    """Something with every character that is none of ASCII's replaced by one that is, as wide as it was."""

    def __init__(self, inner: RenderableType) -> None:
        self._inner = inner

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for segment in console.render(self._inner, options):
            yield Segment(in_ascii(segment.text), segment.style, segment.control)


def in_ascii(text: str) -> str:
    """The text in ASCII, a question mark per column of what has no likeness there."""
    known = text.translate(_ASCII)
    return known if known.isascii() else "".join(one if one.isascii() else "?" * cell_len(one) for one in known)
