"""Reading scenarios from YAML."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError

from jqueuer.errors import DescriptionError, Fault
from jqueuer.simulation.scenario import Scenario


def load(path: Path) -> Scenario:
    """The scenario in a YAML file; the CSV files it names lie beside it.

    Raises :class:`OSError` where a file cannot be read, :class:`~jqueuer.errors.DescriptionError` with every fault.
    """
    try:
        given = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise _fault("", f"not valid YAML: {error}") from None
    if not isinstance(given, dict):
        raise _fault("", "expected a mapping with the scenario's keys")
    return read({"name": path.stem, **given}, path.parent)


def read(given: dict[str, Any], directory: Path) -> Scenario:
    """The scenario from plain values, CSV files being looked for in a directory."""
    given = {**given}
    if "durations" in given:
        given["durations"] = _with_column("durations", given["durations"], directory)
    if isinstance(given.get("cluster"), dict):
        given["cluster"] = {
            key: _with_column(f"cluster.{key}", value, directory) for key, value in given["cluster"].items()
        }
    try:
        return Scenario.model_validate(given)
    except ValidationError as error:
        faults = (
            Fault(".".join(map(str, one["loc"])), one["msg"].removeprefix("Value error, ")) for one in error.errors()
        )
        raise DescriptionError(tuple(faults)) from None


def _with_column(where: str, value: Any, directory: Path) -> Any:
    """A distribution that names a column of a CSV file, with the column's numbers in its place."""
    if not isinstance(value, dict) or not isinstance(value.get("csv"), dict):
        return value
    name, column = value["csv"].get("file"), value["csv"].get("column")
    if not isinstance(name, str) or not isinstance(column, str):
        raise _fault(f"{where}.csv", "expected {file: jobs.csv, column: seconds}")
    with (directory / name).open(encoding="utf-8", newline="") as file:
        rows = csv.DictReader(file)
        if column not in (rows.fieldnames or ()):
            raise _fault(f"{where}.csv", f"{name} has no column {column!r}; it has {', '.join(rows.fieldnames or ())}")
        cells = [row[column] for row in rows]
    numbers = list[float]()
    for line, cell in enumerate(cells, start=2):
        try:
            numbers.append(float(cell))
        except (TypeError, ValueError):
            raise _fault(f"{where}.csv", f"line {line} of {name}: expected seconds, got {cell!r}") from None
    return {**{key: item for key, item in value.items() if key != "csv"}, "list": numbers}


def _fault(path: str, message: str) -> DescriptionError:
    return DescriptionError((Fault(path, message),))
