"""The stack on a real Swarm: its containers are killed, its nodes lose power, its network is cut and slow."""

from __future__ import annotations

import contextlib
import shutil
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final

import docker
import requests
from docker.models.containers import Container

from jqueuer import labels
from jqueuer.adapters.celery_queue import queue_name
from jqueuer.client import Client
from tests.chaos.accounting import Hit
from tests.chaos.running import soon
from tests.chaos.schedule import Fault, Kind
from tests.chaos.slow_link import slow
from tests.lab.cluster import STACK, Cluster
from tests.lab.node import Node

LEASE_SECONDS: Final = 8.0
"""As tests/lab/override.yml has it."""

_MOUNTED_AT: Final = "/diary"
_SHORT_CUT_SECONDS: Final = 2.0
_LONG_CUT_SECONDS: Final = LEASE_SECONDS + 4.0
_SLOW_SECONDS: Final = 6.0
_DELAY_SECONDS: Final = 0.3
_OFF_SECONDS: Final = 4.0
_EVERYTHING: Final = Hit(everything=True)
_NOTHING: Final = Hit()

CONTAINER_KILLED: Final = Kind("container killed", 12)
AGENT_KILLED: Final = Kind("agent killed", 7)
MANAGER_KILLED: Final = Kind("manager killed", 7)
RABBITMQ_KILLED: Final = Kind("RabbitMQ killed", 4)
REDIS_KILLED: Final = Kind("Redis killed", 4)
QUEUE_DELETED: Final = Kind("queue deleted", 2)
RABBITMQ_WIPED: Final = Kind("RabbitMQ wiped", 1)
CUT_BRIEFLY: Final = Kind("network cut, brief", 3, sparing=True)
CUT_LONG: Final = Kind("network cut, long", 1)
SLOW: Final = Kind("network slow", 3, sparing=True)
WORKER_OFF: Final = Kind("worker off", 2)
MANAGER_NODE_OFF: Final = Kind("manager node off", 1)
ALL_KILLED: Final = Kind("all containers killed", 1)
ALL_OFF: Final = Kind("all nodes off", 1)


class SwarmWorld:
    """A :class:`~tests.chaos.running.World` of nodes; the stack on it takes no job for a poisoned one."""

    kinds = (
        CONTAINER_KILLED, AGENT_KILLED, MANAGER_KILLED, RABBITMQ_KILLED, REDIS_KILLED, QUEUE_DELETED, RABBITMQ_WIPED,
        CUT_BRIEFLY, CUT_LONG, SLOW, WORKER_OFF, MANAGER_NODE_OFF, ALL_KILLED, ALL_OFF,
    )  # fmt: skip
    lease_seconds = LEASE_SECONDS

    def __init__(self, cluster: Cluster, containers: int) -> None:
        self._cluster = cluster
        self._lab = cluster.lab
        self._containers = containers
        self.diary_file = cluster.shared / "chaos"
        self.diary_seen_as = f"{_MOUNTED_AT}/{self.diary_file.name}"
        cluster.shared.chmod(0o777)
        self._faults: dict[Kind, Callable[[Fault, str], tuple[str, Hit]]] = {
            CONTAINER_KILLED: self._kill_container,
            AGENT_KILLED: self._kill_agent,
            MANAGER_KILLED: lambda fault, x: self._kill("manager", _NOTHING),
            RABBITMQ_KILLED: lambda fault, x: self._kill("rabbitmq", _NOTHING),
            REDIS_KILLED: lambda fault, x: self._kill("redis", _EVERYTHING),
            QUEUE_DELETED: self._delete_queue,
            RABBITMQ_WIPED: self._wipe_rabbitmq,
            CUT_BRIEFLY: lambda fault, x: self._cut(self._busy(fault, x, self._workers), _SHORT_CUT_SECONDS),
            CUT_LONG: lambda fault, x: self._cut(self._busy(fault, x, self._workers), _LONG_CUT_SECONDS),
            SLOW: self._slow,
            WORKER_OFF: lambda fault, x: self._power_off([self._busy(fault, x, self._workers)]),
            MANAGER_NODE_OFF: lambda fault, x: self._power_off(self._cluster.nodes[:1]),
            ALL_KILLED: self._kill_all,
            ALL_OFF: lambda fault, x: self._power_off(self._cluster.nodes),
        }

    @property
    def api(self) -> Client:
        """The manager's API."""
        return self._cluster.api

    @property
    def _workers(self) -> list[Node]:
        return self._cluster.nodes[1:]

    def description(self, jobs: list[dict[str, Any]]) -> dict[str, Any]:
        """So many containers, whose number stays."""
        return {
            "name": "chaos",
            "image": "busybox",
            "containers": {"min": self._containers, "max": self._containers},
            "mounts": [f"{self._cluster.shared}:{_MOUNTED_AT}"],
            "jobs": jobs,
        }

    def missing(self) -> str:
        """Which nodes are not ready, or which services of the stack have fewer containers than they should."""
        try:
            missing = sorted({node.name for node in self._cluster.nodes} - self._lab.ready_nodes())
            replicas = self._cluster.replicas().items()
        except (docker.errors.DockerException, requests.RequestException):
            return "the Swarm's manager"
        missing += [f"{name} {running}/{wanted}" for name, (running, wanted) in replicas if running != wanted]
        return ", ".join(missing)

    def inject(self, fault: Fault, experiment_id: str) -> tuple[str, Hit]:
        """See :class:`~tests.chaos.running.World`."""
        return self._faults[fault.kind](fault, experiment_id)

    def _busy(self, fault: Fault, experiment_id: str, nodes: list[Node]) -> Node:
        """A node that has containers of the experiment, where one has."""
        busy = [node for node in nodes if any(_running(node, _containers_of(experiment_id)))]
        return fault.choose(busy or nodes)

    def _kill_container(self, fault: Fault, experiment_id: str) -> tuple[str, Hit]:
        wanted, nodes = _containers_of(experiment_id), self._cluster.nodes
        found = soon(lambda: [(node, one) for node in nodes for one in _running(node, wanted)])
        node, container = fault.choose(sorted(found, key=lambda pair: (pair[0].number, pair[1].id)))
        name = str(container.id)[: labels.CONTAINER_ID_LENGTH]
        _kill_now(container)
        return f"{name} on {node.name}", Hit(containers=frozenset({name}), for_good=True)

    def _kill_agent(self, fault: Fault, experiment_id: str) -> tuple[str, Hit]:
        node = self._busy(fault, experiment_id, self._cluster.nodes)
        for container in _running(node, _service("agent")):
            _kill_now(container)
        return node.name, Hit(nodes=frozenset({node.name}))

    def _kill(self, service: str, hit: Hit) -> tuple[str, Hit]:
        for container in _running(self._cluster.nodes[0], _service(service)):
            _kill_now(container)
        return f"{service} on {self._cluster.nodes[0].name}", hit

    def _delete_queue(self, fault: Fault, experiment_id: str) -> tuple[str, Hit]:
        name = queue_name(experiment_id)
        for container in _running(self._cluster.nodes[0], _service("rabbitmq")):
            done = container.exec_run(["rabbitmqctl", "delete_queue", name])
            if done.exit_code:
                raise RuntimeError(f"the queue could not be deleted: {done.output!r}")
        return name, _NOTHING

    def _wipe_rabbitmq(self, fault: Fault, experiment_id: str) -> tuple[str, Hit]:
        """Killed, and its volume is empty when it comes again."""
        killed = self._kill("rabbitmq", _NOTHING)
        volume = self._cluster.manager.volumes.get(f"{STACK}_rabbitmq-data")
        _empty(Path(volume.attrs["Mountpoint"]))
        return killed

    def _cut(self, node: Node, seconds: float) -> tuple[str, Hit]:
        node.cut()
        time.sleep(seconds)
        node.mend()
        return node.name, Hit(nodes=frozenset({node.name}))

    def _slow(self, fault: Fault, experiment_id: str) -> tuple[str, Hit]:
        node = self._busy(fault, experiment_id, self._workers)
        with slow(self._lab.slot.name, node.number, _DELAY_SECONDS):
            time.sleep(_SLOW_SECONDS)
        return f"{node.name}, {_DELAY_SECONDS:g} s each way", Hit(nodes=frozenset({node.name}))

    def _power_off(self, nodes: list[Node]) -> tuple[str, Hit]:
        """The store is on the manager's node."""
        names = frozenset(node.name for node in nodes)
        hit = _EVERYTHING if self._cluster.nodes[0] in nodes else Hit(nodes=names)
        with ThreadPoolExecutor(len(nodes)) as pool:
            list(pool.map(Node.power_off, nodes))
            time.sleep(_OFF_SECONDS)
            list(pool.map(Node.power_on, nodes))
        return ", ".join(sorted(names)), hit

    def _kill_all(self, fault: Fault, experiment_id: str) -> tuple[str, Hit]:
        with ThreadPoolExecutor() as pool:
            found = [one for running in pool.map(_running, self._cluster.nodes) for one in running]
            list(pool.map(_kill_now, found))
        return f"{len(found)} on all nodes", _EVERYTHING


def _service(name: str) -> dict[str, str]:
    return {"label": f"com.docker.swarm.service.name={STACK}_{name}"}


def _containers_of(experiment_id: str) -> dict[str, str]:
    return {"label": f"{labels.EXPERIMENT}={experiment_id}"}


def _running(node: Node, filters: dict[str, str] | None = None) -> Iterator[Container]:
    """Not by :meth:`list`, which asks for each of them again and fails where one is gone by then."""
    for entry in node.docker.api.containers(filters=filters or {}):
        yield Container(attrs=entry, client=node.docker)


def _kill_now(container: Container) -> None:
    with contextlib.suppress(docker.errors.APIError):  # it ended by itself a moment before
        container.kill("SIGKILL")


def _empty(directory: Path) -> None:
    for entry in directory.iterdir():
        if entry.is_dir() and not entry.is_symlink():
            shutil.rmtree(entry, ignore_errors=True)
        else:
            entry.unlink(missing_ok=True)
