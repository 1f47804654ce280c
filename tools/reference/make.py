"""Writes the reference pages: ``python -m tools.reference.make``."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from tools.reference import description, operations

DOCS: Final = Path(__file__).parents[2] / "docs"


def pages() -> Mapping[Path, str]:
    """What stands in each page."""
    return {
        DOCS / "description-reference.md": description.page(),
        DOCS / "api-reference.md": operations.page(operations.document()),
    }


if __name__ == "__main__":
    for path, text in pages().items():
        path.write_text(text)
