"""The project's own compose file makes a stack of it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import requests
import yaml

from tests.swarm.conftest import Cluster

ROOT = Path(__file__).parents[2]

Wait = Callable[[Callable[[], object], float], None]


def test_the_stack_comes_up(cluster: Cluster) -> None:
    """Every service has its containers, the agent one on each node. Of Grafana there is no package, so it has none."""
    assert cluster.replicas() == {
        "manager": (1, 1), "agent": (3, 3), "rabbitmq": (1, 1), "redis": (1, 1),
        "statsd": (1, 1), "prometheus": (1, 1), "grafana": (0, 0),
    }  # fmt: skip


def test_the_manager_answers_where_the_stack_publishes_it(cluster: Cluster) -> None:
    assert cluster.http.get(f"{cluster.url}/healthz", timeout=10).ok
    assert cluster.http.get(f"{cluster.url}/readyz", timeout=10).ok


def test_the_manager_asks_for_a_token_and_prometheus_has_one_of_its_own(cluster: Cluster, eventually: Wait) -> None:
    for path in ("/metrics", "/api/v1/experiments"):
        assert requests.get(f"{cluster.url}{path}", timeout=10).status_code == 401
        assert cluster.http.get(f"{cluster.url}{path}", timeout=10).ok

    def manager_is() -> str:
        targets = requests.get(f"{cluster.prometheus_url}/api/v1/targets", timeout=10).json()["data"]["activeTargets"]
        return next(target["health"] for target in targets if target["labels"]["job"] == "manager")

    eventually(lambda: manager_is() == "up", 60)


def test_prometheus_watches_for_every_alert_of_the_project(cluster: Cluster) -> None:
    groups = yaml.safe_load((ROOT / "deploy" / "prometheus" / "rules.yml").read_text())["groups"]
    known = requests.get(f"{cluster.prometheus_url}/api/v1/rules", timeout=10).json()["data"]["groups"]
    watched = {rule["name"]: rule["health"] for group in known for rule in group["rules"]}
    assert set(watched) == {rule.get("alert") or rule["record"] for group in groups for rule in group["rules"]}
    assert "err" not in watched.values()


def test_manager_and_agents_are_not_root(cluster: Cluster) -> None:
    for node in cluster.nodes:
        for container in node.docker.containers.list(filters={"label": "com.docker.stack.namespace=jqueuer"}):
            if "jqueuer/" in container.attrs["Config"]["Image"]:
                rows = container.top(ps_args="-o uid,pid,comm")["Processes"]
                users = {uid for uid, _, program in rows if program != "docker-init"}
                assert users
                assert "0" not in users, (container.name, rows)


def test_no_image_of_the_project_holds_a_secret(cluster: Cluster) -> None:
    """Passwords and tokens reach the containers as files that Swarm puts there."""
    for container in cluster.manager.containers.list(filters={"label": "com.docker.stack.namespace=jqueuer"}):
        secrets = [path.read_text().strip() for path in (cluster.lab.directory / "secrets").iterdir()]
        shown = str(container.attrs["Config"]) + str(container.top()["Processes"])
        assert not [secret for secret in secrets if secret != "{}" and secret in shown], container.name
