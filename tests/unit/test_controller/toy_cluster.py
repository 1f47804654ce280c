"""Toy worlds that share nodes: containers are placed, and ended, where Swarm would."""

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from controller_looks import START
from toy_world import Container, World

from jqueuer.scheduling import UNKNOWN, Node, share


@dataclass
class Tenant(World):
    """An experiment whose containers need room on the cluster's nodes."""

    cluster: "Cluster | None" = None
    cores: float = 1.0
    started: int = 0

    def _obey_the_request(self) -> None:
        """Starts where fewest of its containers stand, ends the last started of those that share a node with most."""
        staying = [one for one in self.containers if not one.draining]
        on, order = Counter[str](), []
        for one in staying:
            order.append((on[one.node], one))
            on[one.node] += 1
        order.sort(key=lambda entry: entry[0])
        for _, one in order[self.requested or 0 :]:
            one.draining = True
        self.containers = [one for one in self.containers if one.job or not one.draining]
        assert self.cluster is not None
        for _ in range((self.requested or 0) - len(staying)):
            on = Counter(one.node for one in self.containers if not one.draining)
            fitting = [name for name in self.cluster.nodes if self.cluster.free(name) >= self.cores]
            if not fitting:
                return
            self.started += 1
            name = min(fitting, key=lambda name: (on[name], name))
            self.containers.append(Container(f"{self.record.id}-{self.started}", node=name))


@dataclass
class Cluster:
    """Nodes with so many cores each; a tick is a second."""

    nodes: dict[str, float]
    tenants: dict[str, Tenant] = field(default_factory=dict)
    now: float = START

    def arrive(self, name: str, jobs: int, *, cores: float = 1.0, seconds: float = 3.0, **description: Any) -> Tenant:
        """An experiment is received; its policy is ``fixed`` at the maximum unless told otherwise."""
        description = {"policy": {"name": "fixed"}, "resources": {"cpu": {"reserve": cores}}, **description}
        deadline = description.get("deadline_at")
        tenant = Tenant.of(
            jobs, id=name, created_at=self.now, **{"deadline": None, **description, "deadline_at": deadline}
        )
        tenant.now, tenant.cluster, tenant.cores, tenant.job_seconds = self.now, self, cores, seconds
        self.tenants[name] = tenant
        return tenant

    def free(self, node: str) -> float:
        """Cores that no container stands on."""
        standing = ((one, tenant.cores) for tenant in self.tenants.values() for one in tenant.containers)
        return self.nodes[node] - sum(cores for one, cores in standing if one.node == node)

    def tick(self, ticks: int = 1) -> None:
        """Share the cluster, then let every experiment work, look and obey."""
        for _ in range(ticks):
            self.now += 1.0
            tenants = [tenant for tenant in self.tenants.values() if not tenant.settled]
            nodes = [Node(name=name, cpu_cores=cores, memory_bytes=2**40) for name, cores in self.nodes.items()]
            shares = share(nodes, [tenant.demand for tenant in tenants if tenant.demand is not None])
            for tenant in tenants:
                tenant.share = shares.get(tenant.record.id, UNKNOWN)
                tenant.tick()
            assert all(self.free(name) >= 0 for name in self.nodes)

    def requested(self) -> dict[str, int]:
        """What the experiments that have not ended ask for."""
        return {name: one.requested for name, one in self.tenants.items() if one.requested is not None}
