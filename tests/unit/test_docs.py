"""The documentation says what stands."""

from __future__ import annotations

import json
import re
from pathlib import Path

from jqueuer.settings import Settings
from jqueuer.units import format_duration, format_size

ROOT = Path(__file__).parents[2]


def test_every_setting_is_documented_with_its_default_and_meaning() -> None:
    """The table in docs/settings.md is exactly what the settings say."""
    rows = ["| setting | default | meaning |", "|---|---|---|"]
    for name, field in Settings.model_fields.items():
        default = field.default
        if name.endswith("_seconds"):
            default = format_duration(default)
        elif name.endswith("_bytes"):
            default = format_size(default)
        elif isinstance(default, tuple):
            default = json.dumps(default) if default else ""
        elif default is None:
            default = ""
        shown = f"`{default}`" if str(default) else "–"
        rows.append(f"| `JQUEUER_{name.upper()}` | {shown} | {field.description} |")
    assert "\n".join(rows) in (ROOT / "docs" / "settings.md").read_text()


def test_every_link_between_documents_leads_somewhere() -> None:
    for document in [*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")]:
        for target in re.findall(r"\]\(([^)#]+)\)", document.read_text()):
            if "://" not in target:
                assert (document.parent / target).exists(), f"{document.name} links to {target}, which is not there"
