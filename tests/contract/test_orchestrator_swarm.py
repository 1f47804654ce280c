"""What only a real Swarm of three nodes can show of its orchestrator."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import docker.errors
import pytest

from jqueuer.adapters.redis_store.connection import StoreClient
from jqueuer.errors import EngineUnavailableError
from jqueuer.model import Experiment
from jqueuer.records import ContainerStatus
from jqueuer.states import ContainerState
from tests.contract.orchestrators import (
    IMAGE,
    PLAIN,
    SECONDS,
    SwarmWorld,
    Wait,
    accept,
    auth_file,
    idle,
    kill,
    record,
)
from tests.contract.orchestrators import lab as lab
from tests.contract.orchestrators import swarm as swarm


def test_scaling_never_restarts_a_container_even_if_credentials_have_changed(
    swarm: SwarmWorld, eventually: Wait, tmp_path: Path
) -> None:
    before = swarm.up(PLAIN, 3, eventually)
    for number, password in ((4, "old"), (5, "new"), (6, "new")):
        credentials = auth_file(tmp_path, "https://index.docker.io/v1/", f"me:{password}")
        swarm.manager(registry_auth_file=credentials).scale("e1", number)
        eventually(lambda number=number: len(swarm.containers()) == number, SECONDS)
        assert before < set(swarm.containers())
        before = set(swarm.containers())
    assert {task["DesiredState"] for task in swarm.api.api.tasks()} == {"running"}


def test_what_is_no_longer_wanted_drains_until_its_agent_ends_it(swarm: SwarmWorld, eventually: Wait) -> None:
    before = swarm.up(PLAIN, 6, eventually)
    swarm.agents()
    swarm.orchestrator.scale("e1", 3)
    eventually(lambda: swarm.status().count(ContainerState.DRAINING) == 3, SECONDS)
    draining = {found.id for found in swarm.status().containers if found.state is ContainerState.DRAINING}
    assert swarm.registry.draining("e1") == draining
    assert swarm.status().requested == swarm.status().count(ContainerState.IDLE) == 3
    swarm.orchestrator.scale("e1", 4)
    eventually(lambda: swarm.status().count(ContainerState.STARTING) == 1, SECONDS)
    eventually(lambda: len(swarm.containers()) == 7, SECONDS)
    assert before < set(swarm.containers()), "those that drain were left alone"
    eventually(lambda: idle(swarm) == (4, 4) and len(swarm.status().containers) == 4, SECONDS)
    assert draining.isdisjoint(swarm.containers())


def test_a_container_that_dies_is_replaced(swarm: SwarmWorld, eventually: Wait) -> None:
    before = swarm.up(PLAIN, 3, eventually)
    victim, node = next(iter(swarm.containers().items()))
    kill(node, victim)
    eventually(lambda: len(set(swarm.containers()) - {victim}) == 3, SECONDS)
    assert len(before & set(swarm.containers())) == 2
    eventually(lambda: swarm.status().count(ContainerState.STARTING) == 3, SECONDS)
    assert swarm.status().problem == ""


def test_what_no_node_has_room_for_is_counted_and_explained(swarm: SwarmWorld, eventually: Wait) -> None:
    half = max(node.memory_bytes for node in swarm.orchestrator.nodes()) * 6 // 10
    big = Experiment.model_validate({"image": IMAGE, "resources": {"memory": {"reserve": half}}})
    assert swarm.orchestrator.problems(big) == ((), ())
    swarm.orchestrator.create("e1", big, 5)
    eventually(lambda: swarm.status().unplaced == 2 and len(swarm.containers()) == 3, SECONDS)
    assert len(swarm.status().containers) == 3
    assert "2 of 5 containers wait for a node: no suitable node (insufficient resources on 3 nodes)" in (
        swarm.status().problem
    )
    swarm.orchestrator.scale("e1", 3)
    eventually(lambda: (swarm.status().unplaced, swarm.status().problem) == (0, ""), SECONDS)


def test_an_image_that_is_nowhere_is_reported(swarm: SwarmWorld, eventually: Wait) -> None:
    swarm.orchestrator.create("e1", Experiment(image="nosuch/image:1"), 2)
    eventually(lambda: "No such image: nosuch/image:1" in swarm.status().problem, SECONDS)
    assert swarm.status().requested == 2
    assert "'nosuch/image:1'" in swarm.status().note


def test_a_command_that_ends_at_once_is_reported(swarm: SwarmWorld, eventually: Wait) -> None:
    swarm.orchestrator.create("e1", Experiment(image=IMAGE, container_command=("sh", "-c", "exit 3")), 1)
    eventually(lambda: "ends at once (task: non-zero exit (3))" in swarm.status().problem, SECONDS)


def test_what_a_description_asks_for_is_what_the_containers_get(swarm: SwarmWorld, eventually: Wait) -> None:
    swarm.api.networks.create("lan", driver="overlay")
    try:
        manager = swarm.manager(allowed_mounts=(str(swarm.lab.shared),), allowed_networks=("lan",))
        values = {
            "image": IMAGE,
            "user": "jobs",
            "mounts": [f"{swarm.lab.shared}:/in:ro"],
            "networks": ["lan"],
            "placement": ["node.role!=manager"],
            "resources": {"memory": {"limit": "64MiB"}},
        }
        description = Experiment.model_validate(values)
        assert manager.problems(description) == ((), ())
        manager.create("e1", description, 1)
        eventually(lambda: len(swarm.containers()) == 1, SECONDS)
        [(container_id, node)] = swarm.containers().items()
        found = node.docker.api.inspect_container(container_id)
        assert node is not swarm.lab.nodes[0]
        assert (found["Config"]["User"], found["HostConfig"]["Memory"]) == ("jobs", 64 * 1024**2)
        assert found["Config"]["StopSignal"] == "SIGURG"
        assert "lan" in found["NetworkSettings"]["Networks"]
        [mount] = found["Mounts"]
        assert (mount["Destination"], mount["RW"]) == ("/in", False)
    finally:
        swarm.clear(eventually)
        eventually(lambda: removed(swarm, "lan"), SECONDS)


def removed(swarm: SwarmWorld, network: str) -> bool:
    """Whether the network could be removed; it is in use a moment longer than its last container."""
    try:
        swarm.api.api.remove_network(network)
    except docker.errors.NotFound:
        return True
    except docker.errors.APIError:
        return False
    return False


def test_a_network_that_is_not_there_or_reaches_one_node_only_is_refused(swarm: SwarmWorld) -> None:
    manager = swarm.manager(allowed_networks=("nosuch", "bridge"))
    [refusal], _ = manager.problems(Experiment(image=IMAGE, networks=("nosuch",)))
    assert "docker network create --driver overlay nosuch" in refusal
    [refusal], _ = manager.problems(Experiment(image=IMAGE, networks=("bridge",)))
    assert "reaches no other node" in refusal


def test_what_cannot_run_on_this_swarm_is_refused_in_words(swarm: SwarmWorld) -> None:
    def refusal(**values: Any) -> str:
        refusals, _ = swarm.orchestrator.problems(Experiment.model_validate(values))
        return "; ".join(refusals)

    assert "needs an image" in refusal()
    assert "64 cores" in refusal(image=IMAGE, resources={"cpu": {"reserve": 64}})
    assert "this Swarm has node1, node2, node3" in refusal(image=IMAGE, placement=["node.labels.gpu==true"])
    assert "expected a key, == or !=" in refusal(image=IMAGE, placement=["node.labels.gpu=true"])
    assert "'/etc' is not allowed" in refusal(image=IMAGE, mounts=["/etc:/x"])
    assert "start it first" in refusal(container_name="nosuch")
    assert refusal(image=IMAGE) == ""


def test_containers_of_a_node_that_is_down_are_lost_and_replaced(swarm: SwarmWorld, eventually: Wait) -> None:
    swarm.up(PLAIN, 6, eventually)
    swarm.agents()
    lost = {container_id for container_id, node in swarm.containers().items() if node is swarm.lab.nodes[2]}
    assert lost
    swarm.lab.nodes[2].power_off()
    try:
        eventually(lambda: lost.isdisjoint(found.id for found in swarm.status().containers), SECONDS)
        eventually(lambda: len(up_and_wanted(swarm)) == 6, SECONDS)
        assert lost.isdisjoint(status.id for status in swarm.registry.observed("e1"))
        assert {node.name for node in swarm.orchestrator.nodes()} == {"node1", "node2"}
        conditions = {node.name: (node.ready, node.condition) for node in swarm.orchestrator.machines()}
        assert conditions == {"node1": (True, ""), "node2": (True, ""), "node3": (False, "down")}
        _, [notice] = swarm.orchestrator.problems(Experiment(image=IMAGE, placement=("node.hostname==node3",)))
        assert "node3" in notice
        swarm.orchestrator.destroy("e1")
        swarm.orchestrator.status("e1")
        eventually(lambda: not any(found.node != "node3" for found in after_a_look_of_the_living(swarm)), SECONDS)
        assert swarm.orchestrator.status("e1") is None
    finally:
        swarm.lab.nodes[2].power_on()
        eventually(lambda: len(swarm.lab.ready_nodes()) == 3, SECONDS)


def up_and_wanted(swarm: SwarmWorld) -> list[str]:
    """Containers that run on nodes that are there, and shall."""
    return [
        found.id
        for found in swarm.status().containers
        if found.node in ("node1", "node2") and found.state is not ContainerState.DRAINING
    ]


def after_a_look_of_the_living(swarm: SwarmWorld) -> tuple[ContainerStatus, ...]:
    """The agents of two nodes end what drains there; what is left."""
    for container_id in swarm.registry.draining("e1"):
        for node in swarm.lab.nodes[:2]:
            kill(node, container_id)
    status = swarm.orchestrator.status("e1")
    return () if status is None else status.containers


def test_a_service_of_somebody_else_is_left_alone_even_under_our_name(swarm: SwarmWorld, eventually: Wait) -> None:
    service = swarm.api.services.create(IMAGE, command=["sleep", "1000"], name="jqueuer-e1", labels={"of": "others"})
    with pytest.raises(EngineUnavailableError, match="not ours"):
        swarm.orchestrator.create("e1", PLAIN, 2)
    swarm.orchestrator.scale("e1", 5)
    swarm.orchestrator.destroy("e1")
    assert swarm.orchestrator.status("e1") is None
    version = service.version
    service.reload()
    assert service.version == version
    assert service.attrs["Spec"]["Mode"]["Replicated"]["Replicas"] == 1


def test_a_service_that_somebody_removed_is_seen_as_gone(swarm: SwarmWorld, eventually: Wait) -> None:
    swarm.up(PLAIN, 1, eventually)
    swarm.api.services.get("jqueuer-e1").remove()
    swarm.orchestrator.scale("e1", 2)
    eventually(lambda: idle(swarm) is None, SECONDS)


def test_a_new_manager_finds_everything_as_it_was(swarm: SwarmWorld, eventually: Wait) -> None:
    before = swarm.up(PLAIN, 3, eventually)
    swarm.orchestrator.scale("e1", 2)
    swarm.orchestrator = swarm.manager()
    swarm.orchestrator.create("e1", PLAIN, 9)
    eventually(lambda: swarm.status().count(ContainerState.DRAINING) == 1, SECONDS)
    assert swarm.status().requested == 2
    assert set(swarm.containers()) == before


def test_a_users_own_service_is_adopted_and_never_touched(
    swarm: SwarmWorld, client: StoreClient, eventually: Wait
) -> None:
    swarm.api.services.create(IMAGE, command=["sleep", "1000"], name="closed", init=True)
    [refusal], _ = swarm.orchestrator.problems(Experiment(container_name="closed"))
    assert "--label-add jqueuer.adopt=true closed" in refusal
    with pytest.raises(EngineUnavailableError, match="not open to experiments"):
        swarm.orchestrator.create("e1", Experiment(container_name="closed"), 1)
    service = swarm.api.services.create(
        IMAGE,
        command=["sleep", "1000"],
        name="mine",
        labels={"jqueuer.adopt": "true"},
        init=True,
        mode={"Replicated": {"Replicas": 2}},
    )
    description = Experiment(container_name="mine")
    filters = {"service": "mine", "desired-state": "running"}

    def running() -> list[str]:
        return [
            task["Status"]["ContainerStatus"]["ContainerID"][:12]
            for task in swarm.api.api.tasks(filters=filters)
            if task["Status"]["State"] == "running"
        ]

    eventually(lambda: len(running()) == 2, SECONDS)
    assert swarm.orchestrator.problems(description) == ((), ())
    accept(client, description)
    swarm.orchestrator.create("e1", description, 1)
    service.reload()
    version, containers = service.version, running()
    assert swarm.registry.requested() == {"e1": 2}
    assert swarm.status().requested == 2
    for container in containers:
        record(swarm.registry, "e1", container, "node1")
    eventually(lambda: swarm.status().count(ContainerState.IDLE) == 2, SECONDS)
    swarm.orchestrator.scale("e1", 5)
    swarm.orchestrator.destroy("e1")
    assert swarm.registry.requested() == {}
    assert (swarm.status().requested, swarm.status().count(ContainerState.DRAINING)) == (0, 2)
    for container in containers:
        swarm.registry.ended("e1", container)
    assert swarm.orchestrator.status("e1") is None
    service.reload()
    assert (service.version, running()) == (version, containers)


def test_scales_at_the_same_moment_all_succeed(swarm: SwarmWorld, eventually: Wait) -> None:
    swarm.orchestrator.create("e1", PLAIN, 1)
    numbers, failures, together = range(2, 10), list[Exception](), threading.Barrier(8)

    def scale(number: int) -> None:
        together.wait()
        try:
            swarm.manager().scale("e1", number)
        except EngineUnavailableError as error:
            failures.append(error)

    threads = [threading.Thread(target=scale, args=(number,)) for number in numbers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert swarm.status().requested in numbers


def test_nodes_show_what_they_have_and_what_others_reserve(swarm: SwarmWorld, eventually: Wait) -> None:
    node1, *others = swarm.orchestrator.nodes()
    assert (node1.name, node1.attributes["node.role"], node1.foreign_cpu_cores) == ("node1", "manager", 0.0)
    assert node1.memory_bytes > 0
    assert [node.name for node in others] == ["node2", "node3"]
    reserving = docker.types.Resources(cpu_reservation=int(0.5e9), mem_reservation=8 * 1024**2)
    swarm.api.services.create(
        IMAGE, command=["sleep", "1000"], resources=reserving, constraints=["node.hostname==node2"]
    )
    ours = {"image": IMAGE, "resources": {"cpu": {"reserve": 0.1}}, "placement": ["node.hostname==node2"]}
    swarm.up(Experiment.model_validate(ours), 1, eventually)
    eventually(lambda: swarm.orchestrator.nodes()[1].foreign_cpu_cores == 0.5, SECONDS)
    assert [node.foreign_memory_bytes for node in swarm.orchestrator.nodes()] == [0, 8 * 1024**2, 0]
    node2 = swarm.orchestrator.machines()[1]
    assert (node2.name, round(node2.reserved_cpu_cores, 3), node2.containers) == ("node2", 0.6, 1)
    assert node2.reserved_memory_bytes == 8 * 1024**2


def test_an_engine_that_is_no_manager_or_not_there_is_explained(swarm: SwarmWorld, tmp_path: Path) -> None:
    worker = swarm.manager(docker_url=swarm.lab.nodes[1].docker_url)
    [refusal], _ = worker.problems(PLAIN)
    assert "docker swarm init" in refusal
    with pytest.raises(EngineUnavailableError, match="not a Swarm manager"):
        worker.create("e1", PLAIN, 1)
    with pytest.raises(EngineUnavailableError, match=r"no\.sock does not answer"):
        swarm.manager(docker_url=f"unix://{tmp_path}/no.sock").status("e1")
