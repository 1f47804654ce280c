"""Jobs from a sweep: counted and checked at once, made one by one."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path as FilePath
from typing import Any

from pydantic import TypeAdapter

from jqueuer.descriptor.axes import INDEX, REPEAT, Axis, build_axes
from jqueuer.descriptor.faults import FaultList, Path, suggestion
from jqueuer.descriptor.ranges import Value
from jqueuer.descriptor.sweep_model import Sweep
from jqueuer.descriptor.template import CompiledTemplate, Slot, slots
from jqueuer.descriptor.validation import check, validated, written_path
from jqueuer.kinds import JobId, RelativePath, Text, plain, word
from jqueuer.model import Job
from jqueuer.units import shown

_KINDS: dict[str, TypeAdapter[Any]] = {
    "id": TypeAdapter(JobId),
    "path": TypeAdapter(RelativePath),
    "words": TypeAdapter(Text),
}


@dataclass(frozen=True)
class SweepJobs:
    """The jobs of a sweep, made anew at each iteration."""

    template: CompiledTemplate
    axes: tuple[Axis, ...]
    """All combinations of their rows; the last one changes fastest."""
    count: int

    def __len__(self) -> int:
        return self.count

    def __iter__(self) -> Iterator[Job]:
        width = len(str(self.count))
        for index, (values, texts) in enumerate(self.combinations(), 1):
            yield self.template.render(f"{index:0{width}d}", values, texts)

    def combinations(self) -> Iterator[tuple[dict[str, Value], dict[str, str]]]:
        """For each job its parameters, and the texts of all placeholders."""
        names = [name for axis in self.axes for name in axis.names]
        rows = [
            [(tuple([plain(value) for value in row]), [word(value) for value in row]) for row in axis.rows]
            for axis in self.axes
        ]
        for index, steps in enumerate(itertools.product(*rows), 1):
            values: dict[str, Value] = {}
            texts = {INDEX: str(index)}
            place = 0
            for row, row_texts in steps:
                for value, text in zip(row, row_texts, strict=True):
                    values[names[place]] = value
                    texts[names[place]] = text
                    place += 1
            yield values, texts


def read_sweep(raw: Any, *, base: FilePath | None, max_jobs: int, faults: FaultList) -> SweepJobs | None:
    """The jobs of a sweep; None with its faults noted. ``base`` is the folder its CSV file is looked for in."""
    sweep = validated(Sweep, raw, faults, ("sweep",))
    if sweep is None:
        return None
    known_before = len(faults)
    axes = build_axes(sweep, base, max_jobs, faults)
    names = sweep.parameters.keys() | {INDEX, REPEAT} if axes is None else {INDEX}.union(*(axis.names for axis in axes))
    places = [(("sweep", "job", *written_path(raw["job"], slot.path)), slot) for slot in slots(sweep.job)]
    if axes is not None or sweep.csv is None:  # the columns of a table that cannot be read are not known
        _check_placeholders(places, names, faults)
    for name in sorted(names & sweep.job.parameters.keys()):
        faults.add(("sweep", "job", "parameters", name), f"{name!r} is a parameter of the sweep already")
    if axes is None or len(faults) > known_before:
        return None
    jobs = SweepJobs(CompiledTemplate(sweep.job), axes, math.prod(len(axis.rows) for axis in axes))
    _check_jobs(jobs, places, faults)
    return jobs


def _check_placeholders(places: list[tuple[Path, Slot]], names: set[str], faults: FaultList) -> None:
    for path, slot in places:
        for name in dict.fromkeys(slot.text.names):
            if name not in names:
                known = suggestion(name, names) or f"; expected one of {', '.join(sorted(names))}"
                faults.add(path, f"unknown placeholder {{{{{name}}}}}{known}")


def _check_jobs(jobs: SweepJobs, places: list[tuple[Path, Slot]], faults: FaultList) -> None:
    """Check what the placeholders become in every job; each text is reported once."""
    constrained = [(path, slot) for path, slot in places if slot.kind in _KINDS]
    first_with: dict[str, int] = {}
    for index, (_, texts) in enumerate(jobs.combinations(), 1):
        for path, slot in tuple(constrained):
            text = slot.text.render(texts)
            problem = check(_KINDS[slot.kind], text)
            if problem is None and slot.kind == "id" and first_with.setdefault(text, index) != index:
                problem = (
                    f"job {first_with[text]} has this id already; a placeholder such as {{{{index}}}} tells them apart"
                )
            if problem is not None:
                faults.add(path, f"in job {index} this is {shown(text)}: {problem}")
            if problem is not None or (not slot.text.names and slot.kind != "id"):
                constrained.remove((path, slot))
        if not constrained:
            return
