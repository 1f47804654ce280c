"""The alerts: each fires when it should and not before, and a real Prometheus has what each of them asks for."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner

from jqueuer.cli.app import app
from tests.metrics.scenarios import OTHER_SCENARIOS, SCENARIOS, Scenario
from tests.metrics.watched import Watched
from tests.metrics_parts import ROOT, RULES, promtool, require_prometheus

Eventually = Callable[[Callable[[], object], float], None]

ALERTS: dict[str, dict[str, Any]] = {
    rule["alert"]: rule for group in yaml.safe_load(RULES.read_text())["groups"] for rule in group["rules"]
}
_SELECTOR = re.compile(r"\b((?:jqueuer|rabbitmq)_\w+|up\b)(\{[^}]*\})?")


def test_there_is_a_scenario_for_every_alert() -> None:
    assert set(SCENARIOS) == set(ALERTS)


def test_the_documentation_lists_every_alert() -> None:
    rows = re.findall(r"^\| `(JQueuer\w+)` \| (\w+) \|", (ROOT / "docs" / "metrics.md").read_text(), re.MULTILINE)
    assert dict(rows) == {alert: rule["labels"]["severity"] for alert, rule in ALERTS.items()}


@pytest.mark.parametrize(("alert", "scenario"), [*SCENARIOS.items(), *OTHER_SCENARIOS])
def test_an_alert_fires_in_its_scenario_and_not_before(alert: str, scenario: Scenario, tmp_path: Path) -> None:
    require_prometheus()
    given = [{"series": name, "values": values} for name, values in (scenario.series | scenario.besides).items()]
    tests = [{"interval": "1m", "input_series": given, "promql_expr_test": _expected(alert, scenario)}]
    file = tmp_path / "test.yml"
    file.write_text(yaml.safe_dump({"rule_files": [str(RULES)], "evaluation_interval": "1m", "tests": tests}))
    assert "SUCCESS" in promtool("test", "rules", str(file))


def _expected(alert: str, scenario: Scenario) -> list[dict[str, Any]]:
    firing = f'group by (experiment, node, job) (ALERTS{{alertname="{alert}", alertstate="firing"}})'
    fires = [{"labels": scenario.whom, "value": 1}]
    return [
        {"expr": firing, "eval_time": f"{scenario.quiet}m", "exp_samples": []},
        {"expr": firing, "eval_time": f"{scenario.fires}m", "exp_samples": fires},
    ]


@pytest.mark.parametrize("alert", ALERTS)
def test_an_alert_says_how_bad_it_is_and_what_to_do(alert: str) -> None:
    rule = ALERTS[alert]
    assert alert.startswith("JQueuer")
    assert rule["labels"]["severity"] in {"warning", "critical"}
    assert set(rule["annotations"]) == {"summary", "description"}


def test_commands_that_alerts_name_are_there() -> None:
    named = {
        words
        for rule in ALERTS.values()
        for words in re.findall(r"`jqueuer ([a-z]+)[ `]", rule["annotations"]["description"])
    }
    assert named
    for command in named:
        assert CliRunner().invoke(app, [command, "--help"]).exit_code == 0, command


def test_what_alerts_ask_for_is_there(watched: Watched) -> None:
    """Every selector of every expression finds something that was scraped while the experiments ran."""
    selectors = {match[0] for rule in ALERTS.values() for match in _SELECTOR.finditer(rule["expr"])}
    assert len(selectors) > 20
    assert sorted(one for one in selectors if not watched.values(one)) == []


def test_a_real_prometheus_evaluates_every_alert_without_a_fault(watched: Watched, eventually: Eventually) -> None:
    def rules() -> dict[str, tuple[str, str]]:
        groups = watched.prometheus.ask("rules")["groups"]
        return {
            rule["name"]: (rule["health"], rule.get("lastError", "")) for group in groups for rule in group["rules"]
        }

    eventually(lambda: rules() == dict.fromkeys(ALERTS, ("ok", "")), 20)


def test_a_missed_deadline_is_noticed_by_a_real_prometheus(watched: Watched) -> None:
    """The others wait for minutes, to be sure."""
    firing = f'ALERTS{{alertname="JQueuerDeadlineMissed", alertstate="firing", experiment="{watched.late_id}"}}'
    assert watched.values(firing)
    everybody = watched.prometheus.ask(
        "query_range", query="ALERTS", start=watched.began_at, end=watched.ended_at, step=0.2
    )["result"]
    assert {series["metric"]["alertname"] for series in everybody if series["metric"]["alertstate"] == "firing"} == {
        "JQueuerDeadlineMissed"
    }


def test_the_stack_gives_prometheus_the_rules() -> None:
    compose = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
    given = {config["source"]: config["target"] for config in compose["services"]["prometheus"]["configs"]}
    (named,) = yaml.safe_load((ROOT / "deploy" / "prometheus" / "prometheus.yml").read_text())["rule_files"]
    assert given["prometheus-rules"] == named
    assert compose["configs"]["prometheus-rules"]["file"] == f"./{RULES.relative_to(ROOT)}"
