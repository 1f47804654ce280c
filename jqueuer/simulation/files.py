"""Reading scenarios from YAML, with every fault and its line."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

from jqueuer.descriptor.document import read_document
from jqueuer.descriptor.faults import FaultList
from jqueuer.descriptor.faults import Path as Place
from jqueuer.descriptor.policies import check_policy
from jqueuer.descriptor.validation import validated
from jqueuer.simulation.scenario import Scenario
from jqueuer.units import shown


class _FaultsBelow(FaultList):
    """Passes faults on to another list, with the place that their paths begin at."""

    def __init__(self, faults: FaultList, place: Place) -> None:
        super().__init__()
        self._faults_above, self._place = faults, place

    def add(self, path: Place, message: str) -> None:
        """Remember one thing wrong, there."""
        self._faults_above.add(self._place + path, message)


def load(path: Path) -> Scenario:
    """The scenario in a YAML file; the CSV files it names lie beside it.

    Raises :class:`OSError` where a file cannot be read, :class:`~jqueuer.errors.DescriptionError` with every fault.
    """
    document, faults = read_document(path.read_bytes()), FaultList()
    scenario = _read({"name": path.stem, **document.value}, path.parent, faults)
    faults.raise_if_any(document.lines)
    assert scenario is not None  # noqa: S101 (without faults it is there)
    return scenario


def _read(given: dict[str, Any], directory: Path, faults: FaultList) -> Scenario | None:
    """The scenario from plain values, CSV files being looked for in a directory; None with its faults noted."""
    experiment = given.get("experiment")
    if isinstance(experiment, dict):
        check_policy(experiment.get("policy"), _FaultsBelow(faults, ("experiment",)))
    given = {**given}
    if "durations" in given:
        given["durations"] = _with_column(("durations",), given["durations"], directory, faults)
    if isinstance(given.get("cluster"), dict):
        given["cluster"] = {
            key: _with_column(("cluster", key), value, directory, faults) for key, value in given["cluster"].items()
        }
    return None if len(faults) else validated(Scenario, given, faults)


def _with_column(place: Place, value: Any, directory: Path, faults: FaultList) -> Any:
    """A distribution that names a column of a CSV file, with the column's numbers in its place."""
    if not isinstance(value, dict) or not isinstance(value.get("csv"), dict):
        return value
    place = (*place, "csv")
    name, column = value["csv"].get("file"), value["csv"].get("column")
    if not isinstance(name, str) or not isinstance(column, str):
        faults.add(place, "expected {file: jobs.csv, column: seconds}")
        return value
    with (directory / name).open(encoding="utf-8", newline="") as file:
        rows = csv.DictReader(file)
        if column not in (rows.fieldnames or ()):
            faults.add(place, f"{name} has no column {column!r}; it has {', '.join(rows.fieldnames or ())}")
            return value
        cells = [row[column] for row in rows]
    numbers = list[float]()
    for line, cell in enumerate(cells, start=2):
        try:
            numbers.append(float(cell))
        except (TypeError, ValueError):
            faults.add(place, f"line {line} of {name}: expected seconds, got {shown(cell)}")
            return value
    return {**{key: item for key, item in value.items() if key != "csv"}, "list": numbers}
