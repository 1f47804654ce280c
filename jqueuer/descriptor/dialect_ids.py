"""The job ids of 2018, made fit for ours: no characters of paths, none twice."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from jqueuer.units import shown

_OUTSIDE_IDS = re.compile(r"[^A-Za-z0-9._-]+")
_LONGEST_ID = 100


class JobIds:
    """Makes the ids of 2018 fit, and unique."""

    def __init__(self) -> None:
        self._next_suffix: dict[str, int] = {}
        self._taken: set[str] = set()
        self._changed: list[tuple[str, str]] = []
        self._repeated: list[tuple[str, str]] = []

    def take(self, raw: Any, default: str) -> str:
        """The id under which a job is known from here on; :class:`ValueError` if it is no text."""
        if raw is None:
            raw = default
        if isinstance(raw, bool) or not isinstance(raw, str | int):
            raise ValueError(f"expected text, got {shown(raw)}")
        written = str(raw)
        fitting = _OUTSIDE_IDS.sub("_", written).lstrip("._-")[:_LONGEST_ID] or default
        if fitting != written:
            self._changed.append((written, fitting))
        unique = fitting
        while unique in self._taken:
            suffix = self._next_suffix.get(fitting, 2)
            self._next_suffix[fitting] = suffix + 1
            unique = f"{fitting}-{suffix}"
        if unique != fitting:
            self._repeated.append((fitting, unique))
        self._taken.add(unique)
        return unique

    def notices(self) -> Iterator[str]:
        """What became of the ids, in words."""
        if self._changed:
            old, new = self._changed[0]
            example = f"{shown(old)} → {new!r}"
            yield f"characters that cannot stand in a job id were replaced ({len(self._changed)}×): {example}"
        if self._repeated:
            old, new = self._repeated[0]
            yield f"jobs with the id of another were renamed ({len(self._repeated)}×): the next {old!r} → {new!r}"
