"""Writes the dashboards: ``python -m deploy.grafana.make``."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from deploy.grafana import experiment, nodes, overview, system

DASHBOARDS: Final = Path(__file__).parent / "dashboards"


def files() -> Mapping[Path, str]:
    """What stands in each file."""
    made = {"overview": overview, "experiment": experiment, "nodes": nodes, "system": system}
    return {
        DASHBOARDS / f"{name}.json": json.dumps(module.make(), indent=1, ensure_ascii=False) + "\n"
        for name, module in made.items()
    }


if __name__ == "__main__":
    for path, text in files().items():
        path.write_text(text)
