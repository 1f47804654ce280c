"""The metrics of a running experiment are those of docs/metrics.md, by name, type, labels and words."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

import pytest
import requests
from prometheus_client.metrics_core import Metric
from prometheus_client.parser import text_string_to_metric_families

from jqueuer.statsd_bridge.lines import Kind
from jqueuer.statsd_bridge.mapping import load
from tests.metrics.test_dashboards import ALL as DASHBOARDS
from tests.metrics.test_dashboards import queries
from tests.metrics.watched import FAILING, JOBS, Watched
from tests.metrics_parts import MAPPING, ROOT, RULES, promtool

Eventually = Callable[[Callable[[], object], float], None]
DOCUMENT = ROOT / "docs" / "metrics.md"
OF_BOUNDED_SETS = {"experiment", "node", "state", "outcome", "phase", "kind", "percentile", "direction", "version"}


def documented(title: str) -> list[str]:
    """The rows of the table under a heading."""
    _, _, rest = DOCUMENT.read_text().partition(f"\n## {title}\n")
    return [line for line in rest.partition("\n## ")[0].splitlines() if line.startswith("| `jqueuer_")]


def shown(text: str) -> list[str]:
    """The same rows, from what is shown."""
    return [row(family) for family in text_string_to_metric_families(text) if family.name.startswith("jqueuer_")]


def row(family: Metric) -> str:
    name = f"{family.name}_total" if family.type == "counter" else family.name
    labels = sorted({label for one in family.samples for label in one.labels} - {"le"})
    return f"| `{name}` | {family.type} | {', '.join(labels) or '–'} | {family.documentation} |"


def manager_text(watched: Watched) -> str:
    embedded = watched.system.embedded
    token = {"Authorization": f"Bearer {embedded.token}"}
    return requests.get(f"{embedded.url}/metrics", headers=token, timeout=10).text


@pytest.fixture
def running(watched: Watched, eventually: Eventually) -> Iterator[str]:
    """An experiment whose jobs run."""
    api = watched.system.api
    experiment_id = watched.system.submit('deadline: 1h\njobs: [{id: a, command: [sleep, "60"]}]')
    eventually(lambda: api.experiment(experiment_id)["jobs"]["running"], 20)
    yield experiment_id
    api.cancel(experiment_id)
    api.wait(experiment_id, poll_seconds=0.05)


def test_the_manager_shows_what_is_documented_and_nothing_else(watched: Watched, running: str) -> None:
    assert sorted(shown(manager_text(watched))) == sorted(documented("What the manager shows"))


def test_the_agents_report_what_is_documented_and_nothing_else(watched: Watched) -> None:
    assert sorted(shown(watched.bridge.metrics())) == sorted(documented("What the agents report"))


def test_the_mapping_describes_each_metric_once() -> None:
    """What the official exporter makes of the same file."""
    kinds = {Kind.COUNTER: "counter", Kind.OBSERVER: "histogram", Kind.GAUGE: "gauge"}
    rules = [rule for rule in load(MAPPING).mappings if rule.match_metric_type is not None]
    rows = [
        f"| `{rule.name}` | {kinds[rule.match_metric_type]} | {', '.join(sorted(rule.labels))} | {rule.help} |"
        for rule in rules
        if rule.match_metric_type is not None
    ]
    assert rows == documented("What the agents report")


def test_names_and_labels_keep_to_the_conventions(watched: Watched, running: str) -> None:
    """promtool knows them: base units, _total, help, no reserved labels. And no label is of an unbounded set."""
    for text in (manager_text(watched), watched.bridge.metrics()):
        promtool("check", "metrics", given=text)
        for family in text_string_to_metric_families(text):
            if family.name.startswith("jqueuer_"):
                assert {label for one in family.samples for label in one.labels} <= OF_BOUNDED_SETS | {"le"}


def test_no_job_and_no_container_is_told(watched: Watched, running: str) -> None:
    attempts = watched.system.attempts(watched.experiment_id, "j1")
    for text in (manager_text(watched), watched.bridge.metrics()):
        values = {
            value for one in text_string_to_metric_families(text) for s in one.samples for value in s.labels.values()
        }
        assert not values & {"a", "slow", "j1", "f1", *(attempt["container"] for attempt in attempts)}


def test_dashboards_and_rules_name_no_metric_that_is_not_documented() -> None:
    known = set(re.findall(r"\| `(jqueuer_\w+)` \|", DOCUMENT.read_text()))
    named = {
        name
        for text in (*(query for dashboard in DASHBOARDS for query in queries(dashboard)), RULES.read_text())
        for name in re.findall(r"jqueuer_[a-z_]+", text)
    } - {"jqueuer_manager", "jqueuer_redis", "jqueuer_rabbitmq", "jqueuer_"}  # services of the stack
    assert {name for name in named if not known & {name, re.sub(r"_(bucket|sum|count)$", "", name)}} == set()


def test_agents_and_manager_count_the_same(watched: Watched) -> None:
    def total(query: str) -> float:
        (sample,) = watched.prometheus.ask("query", query=query)["result"]
        return float(sample["value"][1])

    label = f'experiment="{watched.experiment_id}"'
    assert total(f'sum(jqueuer_agent_jobs_finished_total{{{label}, outcome="accomplished"}})') == JOBS
    assert total(f'sum(jqueuer_agent_jobs_finished_total{{{label}, outcome="failed"}})') == FAILING
    assert total(f'jqueuer_jobs{{{label}, state="failed"}}') == FAILING
    by_agents = total(f'sum(jqueuer_agent_job_duration_seconds_sum{{{label}, outcome="accomplished"}})')
    assert by_agents == pytest.approx(total(f"jqueuer_job_seconds_total{{{label}}}"), abs=0.01)


def test_prometheus_finds_no_fault_with_its_configuration() -> None:
    configuration = ROOT / "deploy" / "prometheus" / "prometheus.yml"
    assert "SUCCESS" in promtool("check", "config", "--syntax-only", str(configuration))
