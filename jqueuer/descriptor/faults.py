"""Collecting what is wrong with a description, so that all of it is reported at once."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable
from difflib import get_close_matches

from jqueuer.errors import DescriptionError, Fault
from jqueuer.units import shown

Path = tuple[str | int, ...]
"""Where in a description: ``("jobs", 3, "command")``."""

MAX_FAULTS = 100
_PLAIN_KEY = re.compile(r"[\w.-]{1,64}")


def path_text(path: Iterable[str | int]) -> str:
    """A path as people read it: ``jobs[3].command``."""
    text = ""
    for step in path:
        if isinstance(step, int):
            text += f"[{step}]"
        elif _PLAIN_KEY.fullmatch(step):
            text += f".{step}" if text else step
        else:
            text += f"[{shown(step)}]"
    return text


def fault(message: str, *, path: str = "", line: int | None = None) -> DescriptionError:
    """An error for a description that cannot be read any further."""
    return DescriptionError((Fault(path, message, line),))


def suggestion(word: str, known: Iterable[str]) -> str:
    """``; did you mean 'deadline'?`` where a known word is near, nothing otherwise."""
    near = get_close_matches(word, list(known), n=1, cutoff=0.6)
    return f"; did you mean {near[0]!r}?" if near else ""


def unknown_key(key: str, known: Collection[str]) -> str:
    """What to say of a key that does not exist here."""
    expected = f"; expected one of {', '.join(sorted(known))}" if known else ""
    return f"unknown key {shown(key)}{suggestion(key, known) or expected}"


class FaultList:
    """The faults found so far, in order; beyond a hundred they are only counted."""

    def __init__(self) -> None:
        self._faults: dict[tuple[Path, str], None] = {}
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def add(self, path: Path, message: str) -> None:
        """Remember one thing wrong."""
        if (path, message) in self._faults:
            return
        self._count += 1
        if self._count <= MAX_FAULTS:
            self._faults[path, message] = None

    def raise_if_any(self, lines: Callable[[Collection[Path]], dict[Path, int]] | None = None) -> None:
        """Raise :class:`~jqueuer.errors.DescriptionError` with all of them, and their lines where they can be found."""
        if not self._faults:
            return
        found = lines({path for path, _ in self._faults}) if lines is not None else {}
        faults = [Fault(path_text(path), message, found.get(path)) for path, message in self._faults]
        faults.sort(key=lambda found: found.line or 0)
        if self._count > MAX_FAULTS:
            faults.append(Fault("", f"and {self._count - MAX_FAULTS} more"))
        raise DescriptionError(tuple(faults))
