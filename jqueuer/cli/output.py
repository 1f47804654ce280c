"""What goes where: answers to stdout, everything said on the way to stderr."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from jqueuer.units import format_duration

out = Console(highlight=False)
err = Console(stderr=True, highlight=False)


def visible(text: str) -> str:
    """Text for a terminal: whatever would steer it is shown, not obeyed; jobs and others may have written it."""
    kept = "\n\r\t"
    return "".join(one if one.isprintable() or one in kept else ascii(one)[1:-1] for one in text)


def say(text: str) -> None:
    """A line for the person, on stderr."""
    err.print(visible(text), markup=False, soft_wrap=True)


def tell(text: str) -> None:
    """A line of the answer, on stdout."""
    out.print(visible(text), markup=False, soft_wrap=True)


def tell_json(document: Any, *, line: bool = False) -> None:
    """The answer as one JSON document, or as one line of a stream of them."""
    text = json.dumps(document, ensure_ascii=False, indent=None if line or not out.is_terminal else 2)
    out.file.write(text + "\n")
    out.file.flush()


def tell_table(columns: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> None:
    """A table on stdout: aligned, and never cut where it is not on a terminal."""
    if out.is_terminal:
        table = Table(box=None, pad_edge=False, header_style="bold")
        for column in columns:
            table.add_column(column, overflow="fold")
        for row in rows:
            table.add_row(*(Text(visible(cell)) for cell in row))
        out.print(table)
        return
    widths = [max(len(cell) for cell in column) for column in zip(columns, *rows, strict=True)]
    for row in (columns, *rows):
        tell("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())


def duration(seconds: float | None) -> str:
    """A duration as people read it: tenths below ten seconds, whole seconds above; a dash where there is none."""
    if seconds is None:
        return "–"
    sign = "-" if seconds < 0 else ""
    size = abs(seconds)
    return sign + (f"{size:.1f}s" if size < 9.95 else format_duration(float(round(size))))


def percent(probability: float) -> str:
    """A probability in whole percent, rounded down: what is promised is not made to look surer than it is."""
    return f"{int(100 * probability + 1e-9)} %"


def counted(count: int, noun: str) -> str:
    """``1 job``, ``2 jobs``."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def size(size_bytes: int) -> str:
    """A size in the unit that suits it."""
    amount = float(size_bytes)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if amount < 1024 or unit == "GiB":
            break
        amount /= 1024
    return f"{size_bytes} B" if unit == "B" else f"{amount:.1f} {unit}"
