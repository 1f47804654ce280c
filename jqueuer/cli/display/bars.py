"""Bars of characters. Every part has a character of its own, so that they can be told apart without colours."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from rich.text import Text


class Part(NamedTuple):
    """A part of a bar, and what it is called."""

    amount: int
    name: str
    sign: str
    style: str


_JOBS: Final = (
    ("accomplished", "█", "green"),
    ("running", "▓", "cyan"),
    ("failed", "✗", "red"),
    ("cancelled", "▒", "yellow"),
    ("queued", "░", "bright_black"),
)
_CONTAINERS: Final = (
    ("busy", "■", "cyan"),
    ("idle", "□", "green"),
    ("starting", "◌", "yellow"),
    ("draining", "▪", "magenta"),
)


def job_parts(jobs: dict[str, int]) -> list[Part]:
    """The jobs of an experiment by state."""
    return [Part(jobs[name], name, sign, style) for name, sign, style in _JOBS]


def container_parts(containers: dict[str, Any]) -> list[Part]:
    """Containers by state, as an experiment has them."""
    counts = {**containers, "idle": containers["running"] - containers["busy"]}
    return states_of_containers(counts)


def states_of_containers(counts: dict[str, int]) -> list[Part]:
    """Containers by state; states that are not named have none."""
    return [Part(counts.get(name, 0), name, sign, style) for name, sign, style in _CONTAINERS]


def bar(parts: Sequence[Part], width: int) -> Text:
    """A bar of this width: shares are rounded, but what is there has a cell at least, while there are enough."""
    drawn = Text(no_wrap=True)
    for part, cells in zip(parts, _cells([part.amount for part in parts], width), strict=True):
        drawn.append(part.sign * cells, part.style)
    return drawn


def legend(parts: Sequence[Part], width: int, *, last: str = "") -> list[Text]:
    """The parts that are there, each with its sign and its count, on as many lines as they need."""
    entries = [Text.assemble((part.sign, part.style), f" {part.amount} {part.name}") for part in parts if part.amount]
    lines: list[Text] = []
    for entry in [*entries, *([Text(last, "dim")] if last else [])]:
        if lines and lines[-1].cell_len + 2 + entry.cell_len <= width:
            lines[-1].append("  ").append_text(entry)
        else:
            lines.append(entry)
    return lines


def share(part: float, whole: float, width: int, style: str) -> Text:
    """How much of something is used."""
    filled = min(width, round(width * part / whole)) if whole > 0 else 0
    return Text.assemble(("█" * filled, style), ("░" * (width - filled), "bright_black"), no_wrap=True)


def track(
    start: float, now: float, width: int, *, band: tuple[float, float] | None, deadline: float | None, style: str
) -> Text:
    """The time from the start on: what has passed, the band in which the end is forecast, and the deadline."""
    end = max(now, *(band or ()), *(() if deadline is None else (deadline,)))

    def cell(at: float) -> int:
        passed = (min(max(at, start), end) - start) / ((end - start) or 1.0)
        return int(passed * (width - 1) + 0.5)

    signs = [("━", "bold") if place <= cell(now) else ("─", "bright_black") for place in range(width)]
    if band is not None:
        first, last = (cell(max(at, now)) for at in band)
        signs[first : last + 1] = [("▒", style)] * (last + 1 - first)
    if deadline is not None:
        signs[cell(deadline)] = ("┃", "bold")
    drawn = Text(no_wrap=True)
    for sign, its_style in signs:
        drawn.append(sign, its_style)
    return drawn


def _cells(counts: Sequence[int], width: int) -> list[int]:
    """How many cells each gets; together as many as there are, unless more parts than that are there, or none."""
    total = sum(counts)
    there = [place for place, count in enumerate(counts) if count]
    exact = [count * width / total if count else 0.0 for count in counts]
    cells = [max(1, int(cells)) if cells else 0 for cells in exact]

    def lacking(place: int) -> float:
        return exact[place] - cells[place]

    while there and sum(cells) < width:
        cells[max(there, key=lacking)] += 1
    while sum(cells) > width and max(cells) > 1:
        cells[min((place for place in there if cells[place] > 1), key=lacking)] -= 1
    return cells
