"""The axes of a sweep: parameters that change together, and how many jobs all their combinations make."""

from __future__ import annotations

import itertools
import math
import re
from dataclasses import dataclass
from pathlib import Path

from jqueuer.descriptor.faults import FaultList
from jqueuer.descriptor.ranges import Value, expand, length
from jqueuer.descriptor.sweep_model import Sweep
from jqueuer.descriptor.tables import parse_table, read_table_text
from jqueuer.kinds import ENVIRONMENT_NAME_PATTERN
from jqueuer.units import shown

INDEX = "index"
REPEAT = "repeat"
_NAME = re.compile(ENVIRONMENT_NAME_PATTERN)


@dataclass(frozen=True)
class Axis:
    """Parameters that change together; one row of values for each step."""

    names: tuple[str, ...]
    rows: tuple[tuple[Value, ...], ...]


def build_axes(sweep: Sweep, base: Path | None, max_jobs: int, faults: FaultList) -> tuple[Axis, ...] | None:
    """The axes of a sweep; None with the faults noted. They are counted first, so that no grid is too large for it."""
    table = _table(sweep, base, faults)
    names_stand = _check_names(sweep, table, faults)
    if not names_stand or (sweep.csv is not None and table is None):
        return None
    lengths = {name: length(values) for name, values in sweep.parameters.items()}
    if table is not None:
        lengths["csv"] = len(table.rows)
    if sweep.combine == "zip" and len(set(lengths.values())) > 1:
        listing = ", ".join(f"{name} has {count}" for name, count in lengths.items())
        faults.add(("sweep", "combine"), f"'zip' needs equally many values of each parameter, but {listing}")
        return None
    combinations = max(lengths.values(), default=1) if sweep.combine == "zip" else math.prod(lengths.values())
    count = combinations * (sweep.repeat or 1)
    if count > max_jobs:
        faults.add(("sweep",), f"makes {shown(count)} jobs, more than the {max_jobs} allowed")
        return None
    return tuple(_expanded(sweep, table))


def _table(sweep: Sweep, base: Path | None, faults: FaultList) -> Axis | None:
    if sweep.csv is None:
        return None
    try:
        return Axis(*parse_table(read_table_text(sweep.csv, base)))
    except ValueError as error:
        faults.add(("sweep", "csv"), str(error))
        return None


def _expanded(sweep: Sweep, table: Axis | None) -> list[Axis]:
    axes = [] if table is None else [table]
    axes += [Axis((name,), tuple((value,) for value in expand(values))) for name, values in sweep.parameters.items()]
    if sweep.combine == "zip" and axes:
        chain = itertools.chain.from_iterable
        together = zip(*(axis.rows for axis in axes), strict=True)
        axes = [Axis(tuple(chain(axis.names for axis in axes)), tuple(tuple(chain(rows)) for rows in together))]
    if sweep.repeat is not None:
        axes.append(Axis((REPEAT,), tuple((number,) for number in range(1, sweep.repeat + 1))))
    return axes


def _check_names(sweep: Sweep, table: Axis | None, faults: FaultList) -> bool:
    """Whether every parameter has a name of its own that a placeholder can have."""
    known_before = len(faults)
    if not sweep.parameters and sweep.csv is None and sweep.repeat is None:
        faults.add(("sweep",), "a sweep needs parameters, a csv or repeat")
    taken = {INDEX: "the number of the job"}
    if sweep.repeat is not None:
        taken[REPEAT] = "the number of the repetition"
    for name in table.names if table is not None else ():
        if not _NAME.fullmatch(name):
            faults.add(
                ("sweep", "csv"), f"the column {shown(name)} cannot be a parameter: letters, digits and '_' only"
            )
        elif name in taken:
            faults.add(("sweep", "csv"), f"the column {name!r} is {taken[name]} already")
        taken[name] = "a column of the table"
    for name in sweep.parameters:
        if name in taken:
            faults.add(("sweep", "parameters", name), f"{name!r} is {taken[name]} already")
    return len(faults) == known_before
