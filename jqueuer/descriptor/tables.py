"""CSV tables whose columns are the parameters of a sweep."""

from __future__ import annotations

import csv
import io
import math
from pathlib import Path

from jqueuer.descriptor.ranges import Value
from jqueuer.descriptor.sweep_model import CsvTable

MAX_TABLE_BYTES = 64 * 1024**2


def read_table_text(table: CsvTable, base: Path | None) -> str:
    """The text of a table; :class:`ValueError` says why its file cannot be read."""
    if table.path is None:
        return table.text or ""
    if base is None:
        raise ValueError(
            "a file cannot be read here, the description came without its folder; send the text: {text: ...}"
        )
    path = base / table.path
    try:
        if path.stat().st_size > MAX_TABLE_BYTES:
            raise ValueError(f"{table.path} is larger than {MAX_TABLE_BYTES // 1024**2} MiB")
        return path.read_text("utf-8-sig")
    except OSError as error:
        raise ValueError(f"cannot read {table.path}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise ValueError(f"{table.path} is not valid UTF-8") from None


def typed(text: str) -> Value:
    """A cell as a number where the number is written exactly like that, as text otherwise."""
    for kind in (int, float):
        try:
            number = kind(text)
        except ValueError:
            continue
        if str(number) == text and math.isfinite(number):
            return number
    return text


def parse_table(text: str) -> tuple[tuple[str, ...], tuple[tuple[Value, ...], ...]]:
    """The header and the rows of a CSV table; :class:`ValueError` says which line is wrong."""
    if "\x00" in text:
        raise ValueError("the table contains a NUL character")
    reader = csv.reader(io.StringIO(text.removeprefix("\ufeff"), newline=""), strict=True)
    try:
        names = tuple(name.strip() for name in next(reader, []))
        rows = []
        for row in reader:
            if row and len(row) != len(names):
                cells = f"{len(names)} cells as in the header"
                raise ValueError(f"line {reader.line_num} of the table: expected {cells}, got {len(row)}")
            if row:
                rows.append(tuple(typed(cell.strip()) for cell in row))
    except csv.Error as error:
        raise ValueError(f"line {reader.line_num} of the table: {error}") from None
    if not rows:
        raise ValueError("expected a table with a header and at least one row")
    return names, tuple(rows)
