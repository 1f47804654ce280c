"""Drawing over and over on a terminal, while somebody else finds out what to draw."""

from __future__ import annotations

import queue
import threading
from collections.abc import Generator, Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass
from typing import Final, TypeVar

from rich.console import Console, RenderableType

from jqueuer.cli.display.frame import InAscii

TICK_SECONDS: Final = 1.0
"""Times count down so often, whether there is news or not."""

T = TypeVar("T")


def can_draw(console: Console) -> bool:
    """Whether it is a terminal on which something can be drawn over; colours in a file do not make it one."""
    return console.is_interactive and console.file.isatty()


def drawable(console: Console, picture: RenderableType) -> RenderableType:
    """The picture in the characters that the terminal has."""
    return InAscii(picture) if console.options.ascii_only else picture


def fitting(console: Console, pictures: Iterable[RenderableType]) -> RenderableType:
    """The first of these that is not higher than the terminal, else the last."""
    picture: RenderableType = ""
    for picture in pictures:
        if len(console.render_lines(picture, pad=False)) < console.height:
            break
    return picture


def with_ticks(source: Generator[T, None, None], tick_seconds: float = TICK_SECONDS) -> Iterator[T | None]:
    """What comes from a source that may keep waiting, as it comes; None whenever a tick has passed without anything.

    The source runs in a thread of its own; what it raises is raised here. Who stops listening ends it at its next one.
    """
    news: queue.SimpleQueue[T | _End] = queue.SimpleQueue()
    left = threading.Event()

    def work() -> None:
        error: Exception | None = None
        try:
            with closing(source):
                for one in source:
                    if left.is_set():
                        return
                    news.put(one)
        except Exception as raised:
            error = raised
        news.put(_End(error))

    threading.Thread(target=work, name="looking", daemon=True).start()
    try:
        while True:
            try:
                one = news.get(timeout=tick_seconds)
            except queue.Empty:
                yield None
                continue
            if isinstance(one, _End):
                if one.error is not None:
                    raise one.error
                return
            yield one
    finally:
        left.set()


@dataclass(frozen=True)
class _End:
    error: Exception | None
