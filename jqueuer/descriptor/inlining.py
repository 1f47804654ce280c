"""Making a description independent of the folder it lies in, before it is sent somewhere else."""

from __future__ import annotations

from pathlib import Path

from jqueuer.descriptor.document import read_document
from jqueuer.descriptor.faults import fault
from jqueuer.descriptor.printing import to_yaml
from jqueuer.descriptor.sweep_model import CsvTable
from jqueuer.descriptor.tables import read_table_text


def inline_files(data: bytes, base: Path) -> bytes:
    """The description, as YAML, with the text of its CSV file in place of the path; unchanged where there is none.

    Raises :class:`~jqueuer.errors.DescriptionError` where the file cannot be read.
    """
    document = read_document(data)
    sweep = document.value.get("sweep")
    if not isinstance(sweep, dict):
        return data
    table = sweep.get("csv")
    path = table.get("path") if isinstance(table, dict) else table
    if not isinstance(path, str) or not path:
        return data
    try:
        text = read_table_text(CsvTable(path=path), base)
    except ValueError as error:
        where = ("sweep", "csv")
        raise fault(str(error), path="sweep.csv", line=document.lines([where])[where]) from None
    return to_yaml({**document.value, "sweep": {**sweep, "csv": {"text": text}}}).encode()
