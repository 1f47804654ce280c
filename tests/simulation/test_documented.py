"""docs/simulation.md says what stands in the model."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from pydantic.fields import FieldInfo

from jqueuer.simulation.distributions import Distribution
from jqueuer.simulation.scenario import Change, Cluster, NodeLoss, Scenario
from jqueuer.simulation.study import Summary
from jqueuer.units import format_duration, parse_duration

TEXT = (Path(__file__).parents[2] / "docs" / "simulation.md").read_text()
FROM_ELSEWHERE = {"name": "the file's name", "jobs": "as many as are listed"}
"""What is filled in before the model sees it."""


def table(first_column: str) -> dict[str, str]:
    """The table with this heading: first column to second, without the quotes."""
    _, _, below = TEXT.partition(f"| {first_column} |")
    rows = re.findall(r"^\| (.*?) \| (.*?) ?\|", below.partition("\n\n")[0], flags=re.MULTILINE)
    return {key.strip("`"): value.strip("`") for key, value in rows}


def default(name: str, field: FieldInfo) -> str:
    """A default as the table has it."""
    if name in FROM_ELSEWHERE or field.is_required():
        return FROM_ELSEWHERE.get(name, "required")
    value: Any = field.get_default(call_default_factory=True)
    if isinstance(value, Distribution):
        return format_duration(value.constant or 0.0)
    if any(getattr(kind, "func", None) is parse_duration for kind in field.metadata):
        return format_duration(value)
    return f"{value:g}" if isinstance(value, float) else str(value or "none")


def test_every_key_of_a_scenario_is_in_the_table_with_its_default() -> None:
    expected = {name: default(name, field) for name, field in Scenario.model_fields.items() if name != "cluster"}
    expected |= {f"cluster.{name}": default(name, field) for name, field in Cluster.model_fields.items()}
    assert table("key") == expected


def test_the_keys_of_losses_and_changes_are_named() -> None:
    for kind in (NodeLoss, Change):
        assert f"a list of `{{{', '.join(kind.model_fields)}}}`" in TEXT


def test_every_form_of_a_duration_is_named() -> None:
    forms = {field.alias or name for name, field in Distribution.model_fields.items()}
    for form in forms:
        assert f"`{form}: " in TEXT


def test_every_figure_is_explained() -> None:
    assert list(table("figure, per policy")) == list(Summary.__dataclass_fields__)
