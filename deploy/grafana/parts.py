"""What dashboards are made of, as Grafana's JSON has it (its schema 39, of Grafana 11)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

Json = dict[str, Any]

SOURCE: Final[Json] = {"type": "prometheus", "uid": "jqueuer-prometheus"}
"""The data source that is provisioned beside the dashboards."""
WIDTH: Final = 24
RATE: Final = "$__rate_interval"
"""Four scrapes at least; Grafana fills it in."""

JOB_COLOURS: Final = {
    "accomplished": "green",
    "failed": "red",
    "timed-out": "orange",
    "cancelled": "text",
    "running": "blue",
    "queued": "super-light-blue",
}
"""Of states and outcomes; the same on all dashboards."""
CONTAINER_COLOURS: Final = {"busy": "green", "idle": "yellow", "starting": "blue", "draining": "orange"}


@dataclass(frozen=True, slots=True)
class Query:
    """One query of a panel and what its series are called: words, or labels in ``{{}}``."""

    expression: str
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    """One panel; ``unit`` is one of Grafana's: short, s, bytes, percentunit …"""

    title: str
    description: str
    queries: tuple[Query, ...]
    unit: str = "short"
    type: str = "timeseries"
    width: int = 12
    height: int = 8
    lowest: float | None = 0
    stacked: bool = False
    steps: bool = False
    """What is counted, and stays as it is until it changes."""
    band: tuple[str, str] | None = None
    """The names of two series: what lies between them is filled."""
    alarm: tuple[str, float] | None = None
    """``above`` or ``below`` and a number: there it is red."""
    colours: Mapping[str, str] = field(default_factory=dict)
    """Of series by their names; the others have Grafana's."""
    text: str = "value"
    """Of a single number: ``name`` shows what it is called instead."""


def stat(title: str, description: str, expression: str, **more: Any) -> Panel:
    """One number."""
    query = Query(expression, more.pop("name", title.lower()))
    return Panel(
        title=title, description=description, queries=(query,), type="stat", **{"width": 4, "height": 4, **more}
    )


def graph(title: str, description: str, *queries: tuple[str, str], **more: Any) -> Panel:
    """Lines over time; each query is an expression and a name."""
    return Panel(title=title, description=description, queries=tuple(Query(*one) for one in queries), **more)


def heat_map(title: str, description: str, expression: str, **more: Any) -> Panel:
    """A histogram over time."""
    query = Query(expression, "{{le}}")
    return Panel(title=title, description=description, queries=(query,), type="heatmap", **more)


def dashboard(name: str, title: str, description: str, panels: Sequence[Panel], *variables: Json) -> Json:
    """A whole dashboard, its panels from left to right in rows; the others are in its menu."""
    return {
        "uid": f"jqueuer-{name}",
        "title": title,
        "description": description,
        "tags": ["jqueuer"],
        "schemaVersion": 39,
        "version": 1,
        "editable": True,
        "graphTooltip": 1,
        "refresh": "5s",
        "time": {"from": "now-1h", "to": "now"},
        "timepicker": {},
        "timezone": "browser",
        "weekStart": "",
        "fiscalYearStartMonth": 0,
        "liveNow": False,
        "annotations": {"list": []},
        "links": [_menu()],
        "templating": {"list": list(variables)},
        "panels": _placed(panels),
    }


def variable(name: str, label: str, metric: str) -> Json:
    """Something to choose: the values of a label of a metric, the label having the variable's name."""
    return {
        "name": name,
        "label": label,
        "type": "query",
        "datasource": SOURCE,
        "query": {"query": f"label_values({metric}, {name})", "refId": name},
        "refresh": 2,
        "sort": 2,
        "multi": False,
        "includeAll": False,
        "hide": 0,
        "regex": "",
        "skipUrlSync": False,
        "options": [],
        "current": {},
    }


def _menu() -> Json:
    return {
        "type": "dashboards",
        "tags": ["jqueuer"],
        "title": "JQueuer",
        "tooltip": "",
        "icon": "external link",
        "url": "",
        "asDropdown": True,
        "includeVars": False,
        "keepTime": True,
        "targetBlank": False,
    }


def _placed(panels: Sequence[Panel]) -> list[Json]:
    """A panel that does not fit into what is left of a row begins the next one."""
    placed, x, y, height = [], 0, 0, 0
    for number, panel in enumerate(panels, 1):
        if x + panel.width > WIDTH:
            x, y, height = 0, y + height, 0
        place = {"h": panel.height, "w": panel.width, "x": x, "y": y}
        placed.append({"id": number, "gridPos": place, **_content(panel)})
        x, height = x + panel.width, max(height, panel.height)
    return placed


def _content(panel: Panel) -> Json:
    return {
        "type": panel.type,
        "title": panel.title,
        "description": panel.description,
        "datasource": SOURCE,
        "targets": [_target(panel, letter, query) for letter, query in zip("ABCDEFGH", panel.queries, strict=False)],
        "fieldConfig": {"defaults": _defaults(panel), "overrides": _overrides(panel)},
        "options": {**_OPTIONS[panel.type], **({"textMode": panel.text} if panel.type == "stat" else {})},
    }


def _target(panel: Panel, letter: str, query: Query) -> Json:
    return {
        "refId": letter,
        "datasource": SOURCE,
        "editorMode": "code",
        "expr": query.expression,
        "legendFormat": query.name,
        "format": "heatmap" if panel.type == "heatmap" else "time_series",
        "instant": False,
        "range": True,
    }


def _defaults(panel: Panel) -> Json:
    if panel.type == "heatmap":
        return {"custom": {"scaleDistribution": {"type": "linear"}}}
    shown: Json = {
        "unit": panel.unit,
        "color": {"mode": "thresholds" if panel.type == "stat" else "palette-classic"},
        "mappings": [],
        "thresholds": {"mode": "absolute", "steps": _steps(panel)},
    }
    if panel.lowest is not None:
        shown["min"] = panel.lowest
    if panel.type == "timeseries":
        shown["custom"] = {
            "drawStyle": "line",
            "lineInterpolation": "stepAfter" if panel.steps else "linear",
            "lineWidth": 1 if panel.stacked else 2,
            "fillOpacity": 25 if panel.stacked else 0,
            "showPoints": "never",
            "spanNulls": False,
            "stacking": {"group": "A", "mode": "normal" if panel.stacked else "none"},
        }
    return shown


def _steps(panel: Panel) -> list[Json]:
    where, limit = panel.alarm or ("", 0.0)
    usual, beyond = ("red", "green") if where == "below" else ("green", "red")
    return [{"color": usual, "value": None}, {"color": beyond, "value": limit}] if where else _PLAIN


_PLAIN: Final[list[Json]] = [{"color": "blue", "value": None}]


def _overrides(panel: Panel) -> list[Json]:
    if panel.type != "timeseries":
        return []
    found = [
        _override(name, "color", {"mode": "fixed", "fixedColor": colour}) for name, colour in panel.colours.items()
    ]
    if panel.band is not None:
        lower, upper = panel.band
        found += [_override(upper, "custom.fillBelowTo", lower), _override(upper, "custom.fillOpacity", 20)]
    return found


def _override(name: str, what: str, value: Any) -> Json:
    return {"matcher": {"id": "byName", "options": name}, "properties": [{"id": what, "value": value}]}


_OPTIONS: Final[Mapping[str, Json]] = {
    "stat": {
        "colorMode": "value",
        "graphMode": "none",
        "justifyMode": "auto",
        "orientation": "auto",
        "reduceOptions": {"calcs": ["lastNotNull"], "fields": "", "values": False},
    },
    "timeseries": {
        "legend": {"calcs": [], "displayMode": "list", "placement": "bottom", "showLegend": True},
        "tooltip": {"mode": "multi", "sort": "none"},
    },
    "heatmap": {
        "calculate": False,
        "cellGap": 1,
        "color": {"mode": "scheme", "scheme": "Blues", "steps": 32, "exponent": 0.5, "fill": "blue", "reverse": False},
        "filterValues": {"le": 1e-9},
        "legend": {"show": True},
        "tooltip": {"mode": "single", "yHistogram": False},
        "yAxis": {"axisPlacement": "left", "reverse": False, "unit": "s"},
    },
}
