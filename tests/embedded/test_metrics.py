"""The metrics as people see them: the documented ones, and every dashboard over a real Prometheus."""

from __future__ import annotations

import json
import math
import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import requests
import yaml
from prometheus_client.parser import text_string_to_metric_families

from jqueuer.client import Client
from jqueuer.embedded import Embedded
from jqueuer.records import JournalEntry
from jqueuer.statsd_bridge.lines import Kind
from jqueuer.statsd_bridge.mapping import load
from tests.embedded.api_manager import Manager
from tests.embedded.running import QUICK, System
from tests.metrics_parts import (
    MAPPING,
    ROOT,
    Bridge,
    Prometheus,
    promtool,
    require_prometheus,
    running_bridge,
    running_prometheus,
)

GRAFANA = ROOT / "deploy" / "grafana"
DASHBOARDS = sorted((GRAFANA / "dashboards").glob("*.json"))
ALL_UP = dict.fromkeys(("manager", "statsd", "rabbitmq", "prometheus"), "up")
"""What the project's configuration names; in the place of RabbitMQ stands Prometheus itself here."""

JOBS = 16
HEAD = """
deadline: 10m
policy: {name: fixed, containers: 2, period: 200ms}
containers: {min: 1, max: 2}
pre_job: [sleep, "0.05"]
post_job: [sleep, "0.05"]
"""


@dataclass(frozen=True)
class Monitored:
    """A system with its monitoring, and an experiment that has ended in it."""

    system: System
    bridge: Bridge
    prometheus: Prometheus
    experiment_id: str
    began_at: float
    ended_at: float


@pytest.fixture(scope="module")
def monitored(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Monitored]:
    require_prometheus()
    with running_bridge() as bridge:
        settings = QUICK | {"JQUEUER_STATSD_HOST": "127.0.0.1", "JQUEUER_STATSD_PORT": str(bridge.port)}
        with (
            Embedded(tmp_path_factory.mktemp("system"), settings=settings) as embedded,
            Client(embedded.url, token=embedded.token) as api,
        ):
            system = System(embedded, api)
            addresses = {"manager": embedded.url, "statsd": bridge.url}
            addresses = {name: url.removeprefix("http://") for name, url in addresses.items()}
            with running_prometheus(
                tmp_path_factory.mktemp("prometheus"), addresses, embedded.token_file
            ) as prometheus:
                _wait_until(lambda: prometheus.answering() == ALL_UP, "Prometheus looks at everything")
                began_at = time.time()
                jobs = "\n".join(f'- {{id: j{number}, command: [sleep, "0.2"]}}' for number in range(JOBS))
                summary = system.run(f"{HEAD}\njobs:\n{jobs}")
                assert summary["state"] == "accomplished"
                ended = summary["experiment_id"]
                _wait_until(lambda: _has_seen_the_end(prometheus, ended), "Prometheus has seen the end")
                yield Monitored(system, bridge, prometheus, ended, began_at, time.time())


def _wait_until(true: Callable[[], object], what: str) -> None:
    deadline = time.monotonic() + 30
    while not true():
        assert time.monotonic() < deadline, f"not within 30 s: {what}"
        time.sleep(0.05)


def _has_seen_the_end(prometheus: Prometheus, experiment_id: str) -> bool:
    queries = (
        f'jqueuer_jobs{{experiment="{experiment_id}", state="accomplished"}} == {JOBS}',
        f'sum(jqueuer_agent_jobs_finished_total{{experiment="{experiment_id}"}}) == {JOBS}',
    )
    return all(prometheus.ask("query", query=query)["result"] for query in queries)


def panels(dashboard: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(dashboard.read_text())["panels"]
    return found


def queries(dashboard: Path) -> list[str]:
    return [target["expr"] for panel in panels(dashboard) for target in panel["targets"]]


@pytest.mark.parametrize("dashboard", DASHBOARDS, ids=lambda path: path.stem)
def test_every_panel_shows_something_of_a_finished_experiment(dashboard: Path, monitored: Monitored) -> None:
    for query in queries(dashboard):
        spoken = query.replace("$__rate_interval", "5s").replace("$experiment", monitored.experiment_id)
        data = monitored.prometheus.ask(
            "query_range", query=spoken, start=monitored.began_at, end=monitored.ended_at, step=0.2
        )
        values = [float(value) for series in data["result"] for _, value in series["values"]]
        assert any(math.isfinite(value) for value in values), f"{dashboard.name}: {query} shows nothing"


def test_the_experiments_to_choose_from_are_found(monitored: Monitored) -> None:
    (variable,) = json.loads((GRAFANA / "dashboards" / "experiment.json").read_text())["templating"]["list"]
    match = re.fullmatch(r"label_values\((\w+), (\w+)\)", variable["query"]["query"])
    assert match is not None
    metric, label = match.groups()
    values = monitored.prometheus.ask(f"label/{label}/values", **{"match[]": metric})
    assert monitored.experiment_id in values


def test_agents_and_manager_count_the_same(monitored: Monitored) -> None:
    def total(query: str) -> float:
        (sample,) = monitored.prometheus.ask("query", query=query)["result"]
        return float(sample["value"][1])

    label = f'experiment="{monitored.experiment_id}"'
    assert total(f'sum(jqueuer_agent_jobs_finished_total{{{label}, outcome="accomplished"}})') == JOBS
    assert total(f'jqueuer_jobs{{{label}, state="accomplished"}}') == JOBS
    by_agents = total(f"sum(jqueuer_agent_job_seconds_sum{{{label}}})")
    assert by_agents == pytest.approx(total(f"jqueuer_job_seconds_total{{{label}}}"), abs=0.01)


def test_prometheus_finds_no_fault_with_configuration_and_metrics(monitored: Monitored) -> None:
    assert "SUCCESS" in promtool(
        "check", "config", "--syntax-only", str(ROOT / "deploy" / "prometheus" / "prometheus.yml")
    )
    embedded = monitored.system.embedded
    token = {"Authorization": f"Bearer {embedded.token}"}
    for url in (embedded.url, monitored.bridge.url):
        promtool("check", "metrics", given=requests.get(f"{url}/metrics", headers=token, timeout=10).text)


def test_every_documented_metric_is_there_and_every_other_is_documented(manager: Manager) -> None:
    """The tables in docs/metrics.md are what the manager shows and what the mapping names."""
    experiment_id = manager.submit_jobs(1, "name: t\ndeadline: 1h")
    manager.services.experiments.journal(experiment_id, JournalEntry(at=0.0, action="create", containers=1))
    document = (ROOT / "docs" / "metrics.md").read_text()
    head = ["| metric | type | labels | meaning |", "|---|---|---|---|"]
    assert "\n".join([*head, *_manager_rows(manager)]) in document
    assert "\n".join([*head, *_agent_rows()]) in document


def _manager_rows(manager: Manager) -> list[str]:
    rows = []
    for family in text_string_to_metric_families(manager.http.get(f"{manager.url}/metrics", timeout=10).text):
        if family.name.startswith("jqueuer_"):
            name = f"{family.name}_total" if family.type == "counter" else family.name
            rows.append(_row(name, family.type, {label for one in family.samples for label in one.labels}, family))
    return rows


def _agent_rows() -> list[str]:
    kinds = {Kind.COUNTER: "counter", Kind.OBSERVER: "histogram"}
    return [
        f"| `{rule.name}` | {kinds[rule.match_metric_type]} | {', '.join(sorted(rule.labels))} | {rule.help} |"
        for rule in load(MAPPING).mappings
        if rule.match_metric_type is not None
    ]


def _row(name: str, kind: str, labels: set[str], family: Any) -> str:
    return f"| `{name}` | {kind} | {', '.join(sorted(labels))} | {family.documentation} |"


@pytest.mark.parametrize("dashboard", DASHBOARDS, ids=lambda path: path.stem)
def test_dashboards_fit_grafanas_schema_and_the_provisioned_data_source(dashboard: Path) -> None:
    (source,) = yaml.safe_load((GRAFANA / "provisioning/datasources/prometheus.yml").read_text())["datasources"]
    content = json.loads(dashboard.read_text())
    assert (content["schemaVersion"], content["uid"]) == (39, f"jqueuer-{dashboard.stem}")
    assert "id" not in content  # Grafana gives it
    shown = panels(dashboard)
    assert [panel["id"] for panel in shown] == list(range(1, len(shown) + 1))
    cells: set[tuple[int, int]] = set()
    for panel in shown:
        assert panel["type"] in {"timeseries", "stat"}
        assert panel["description"]
        for holder in (panel, *panel["targets"]):
            assert holder["datasource"] == {"type": "prometheus", "uid": source["uid"]}
        place = panel["gridPos"]
        taken = {(place["x"] + across, place["y"] + down) for across in range(place["w"]) for down in range(place["h"])}
        assert not taken & cells, f"{panel['title']} lies on another panel"
        assert max(x for x, _ in taken) < 24
        cells |= taken
        assert len({target["refId"] for target in panel["targets"]}) == len(panel["targets"])
    linked = [link["url"].removeprefix("/d/jqueuer-") for link in content["links"]]
    assert set(linked) <= {other.stem for other in DASHBOARDS}


def test_dashboards_name_no_metric_that_is_not_documented() -> None:
    documented = set(re.findall(r"\| `(jqueuer_\w+)` \|", (ROOT / "docs" / "metrics.md").read_text()))
    for dashboard in DASHBOARDS:
        for query in queries(dashboard):
            for name in re.findall(r"jqueuer_\w+", query):
                assert documented & {name, re.sub(r"_(bucket|sum|count)$", "", name)}, f"{dashboard.name}: {name}"
