"""What ``jqueuer top`` asks: the nodes, the experiments that have not ended, whether store and broker answer."""

from __future__ import annotations

import time
from collections import defaultdict
from dataclasses import replace
from itertools import islice
from typing import Any, Final

from prometheus_client.parser import text_string_to_metric_families

from jqueuer.cli.display.looks import Cluster
from jqueuer.client import Client, ClientError

SHOWN: Final = 100
"""So many experiments are asked for, the newest."""
DETAILED: Final = 20
"""So many of those that run are asked about one by one: how many containers they have, what they wait for."""
_UNFINISHED: Final = ("running", "paused", "finishing")
_METRICS_SECONDS: Final = 5.0
_BROKER_UP: Final = "jqueuer_broker_up"
_NODE_CONTAINERS: Final = "jqueuer_node_containers"


class Observer:
    """Looks at a cluster again and again; what could not be asked stays as it was, and is said to be old."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._last = Cluster(client.url, client.now())
        self._metrics_at = 0.0

    def look(self) -> Cluster:
        """The cluster now. :class:`ClientError` where the manager refuses, as it does who shows no token."""
        try:
            problem = self._client.ready()
            self._last = replace(self._last, at=self._client.now(), store_problem=problem, trouble="")
            self._ask_for_numbers()
            if not problem:
                self._ask()
        except ClientError as error:
            if error.status is not None and error.status < 500:
                raise
            self._last = replace(self._last, trouble=str(error))
            if error.status is None:
                self._last = replace(self._last, store_problem=None, broker_up=None)
        return self._last

    def _ask_for_numbers(self) -> None:
        if time.monotonic() >= self._metrics_at:
            broker_up, containers_on = _numbers(self._client.metrics())
            self._last = replace(self._last, broker_up=broker_up, containers_on=containers_on)
            self._metrics_at = time.monotonic() + _METRICS_SECONDS

    def _ask(self) -> None:
        page = self._client.newest_experiments(states=_UNFINISHED, limit=SHOWN)
        running = islice((item for item in page["experiments"] if item["state"] == "running"), DETAILED)
        details = {item["id"]: self._detail(item) for item in running}
        experiments = tuple(details.get(item["id"], item) for item in page["experiments"])
        self._last = replace(self._last, experiments=experiments, total=page["total"])
        self._last = replace(self._last, nodes=tuple(self._client.nodes()))

    def _detail(self, item: dict[str, Any]) -> dict[str, Any]:
        try:
            return self._client.experiment(item["id"])
        except ClientError as error:
            if error.status == 404:
                return item  # deleted just now
            raise


def _numbers(metrics: str) -> tuple[bool | None, dict[str, dict[str, int]]]:
    """Whether the broker answers, and the containers of each node by state."""
    broker_up: bool | None = None
    containers_on: defaultdict[str, dict[str, int]] = defaultdict(dict)
    for family in text_string_to_metric_families(metrics):
        for sample in family.samples if family.name in (_BROKER_UP, _NODE_CONTAINERS) else ():
            if family.name == _BROKER_UP:
                broker_up = sample.value == 1
            else:
                containers_on[sample.labels["node"]][sample.labels["state"]] = int(sample.value)
    return broker_up, dict(containers_on)
