"""The dashboards: up to date, what Grafana understands, and every panel with something to show."""

from __future__ import annotations

import json
import math
import re
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
import yaml

from deploy.grafana.make import DASHBOARDS, files
from tests.metrics.grafana_models import faults_of
from tests.metrics.watched import Watched
from tests.metrics_parts import ROOT

GRAFANA = ROOT / "deploy" / "grafana"
ALL = sorted(DASHBOARDS.glob("*.json"))
each_dashboard = pytest.mark.parametrize("dashboard", ALL, ids=lambda path: path.stem)


def content_of(dashboard: Path) -> dict[str, Any]:
    content: dict[str, Any] = json.loads(dashboard.read_text())
    return content


def queries(dashboard: Path) -> list[str]:
    return [target["expr"] for panel in content_of(dashboard)["panels"] for target in panel["targets"]]


def test_the_files_are_what_the_code_makes() -> None:
    """Else run: make dashboards."""
    assert {path: path.read_text() for path in ALL} == files()


def test_the_stack_gives_grafana_every_dashboard() -> None:
    compose = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
    given = {config["source"]: config["target"] for config in compose["services"]["grafana"]["configs"]}
    (provider,) = yaml.safe_load((GRAFANA / "provisioning/dashboards/jqueuer.yml").read_text())["providers"]
    for dashboard in ALL:
        source = f"grafana-{dashboard.stem}"
        assert given[source] == f"{provider['options']['path']}/{dashboard.name}"
        assert compose["configs"][source]["file"] == f"./{dashboard.relative_to(ROOT)}"


@each_dashboard
def test_every_panel_shows_something_of_a_finished_experiment(dashboard: Path, watched: Watched) -> None:
    empty = [query for query in queries(dashboard) if not any(math.isfinite(one) for one in watched.values(query))]
    assert empty == []


@each_dashboard
def test_dashboards_fit_grafanas_own_models(dashboard: Path) -> None:
    assert faults_of(content_of(dashboard)) == []


def test_the_models_are_those_of_the_grafana_that_is_deployed() -> None:
    image = yaml.safe_load((ROOT / "docker-compose.yml").read_text())["services"]["grafana"]["image"]
    assert version("grafana-foundation-sdk").partition("!")[2] == image.partition(":")[2]


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ({"colourMode": "value"}, ".panels[0].options.colourMode is unknown"),
        ({"colorMode": "bright"}, ".panels[0].options.color_mode is 'bright', not"),
        ({"reduceOptions": {"calcs": "last"}}, ".panels[0].options.reduce_options.calcs is 'last', not"),
        ({"wideLayout": 3}, ".panels[0].options.wide_layout is 3, not"),
    ],
)
def test_what_does_not_fit_is_found(change: dict[str, Any], fault: str) -> None:
    content = content_of(DASHBOARDS / "overview.json")
    content["panels"][0]["options"] |= change
    (found,) = faults_of(content)
    assert found.startswith(fault)


@each_dashboard
def test_panels_explain_themselves_and_fit(dashboard: Path) -> None:
    (source,) = yaml.safe_load((GRAFANA / "provisioning/datasources/prometheus.yml").read_text())["datasources"]
    content = content_of(dashboard)
    assert (content["schemaVersion"], content["uid"]) == (39, f"jqueuer-{dashboard.stem}")
    assert "id" not in content  # Grafana gives it
    cells: set[tuple[int, int]] = set()
    for panel in content["panels"]:
        assert panel["title"]
        assert panel["description"]
        assert panel["type"] == "heatmap" or panel["fieldConfig"]["defaults"]["unit"]
        for holder in (panel, *panel["targets"]):
            assert holder["datasource"] == {"type": "prometheus", "uid": source["uid"]}
        place = panel["gridPos"]
        taken = {(place["x"] + across, place["y"] + down) for across in range(place["w"]) for down in range(place["h"])}
        assert not taken & cells, f"{panel['title']} lies on another panel"
        assert max(x for x, _ in taken) < 24
        cells |= taken
        assert len({target["refId"] for target in panel["targets"]}) == len(panel["targets"])


def test_the_experiments_to_choose_from_are_found(watched: Watched) -> None:
    (variable,) = content_of(DASHBOARDS / "experiment.json")["templating"]["list"]
    match = re.fullmatch(r"label_values\((\w+), (\w+)\)", variable["query"]["query"])
    assert match is not None
    metric, label = match.groups()
    assert label == variable["name"]
    values = watched.prometheus.ask(f"label/{label}/values", **{"match[]": metric})
    assert watched.experiment_id in values
