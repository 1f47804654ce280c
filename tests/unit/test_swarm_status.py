"""What Swarm says and what the agents recorded, put together."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from jqueuer.records import ContainerStatus
from jqueuer.states import ContainerState
from jqueuer_manager.adapters.swarm.facts import Machine, Task, node_statuses, nodes_of
from jqueuer_manager.adapters.swarm.status import Look, status_of

NOW = 1000.0
READY = Machine(
    id="n1", name="node1", lost=False, usable=True, cpu_cores=2, memory_bytes=1, attributes={"node.hostname": "node1"}
)
DOWN = replace(READY, id="n2", name="node2", lost=True, usable=False)
RUNNING = Task(
    id="t", place="1", node_id="n1", state="running", wanted=True, error="", container_id="c", created_at=100.0,
    changed_at=101.0,
)  # fmt: skip


def task(name: str, **changes: Any) -> Task:
    return replace(RUNNING, id=name, **changes)


def failed(name: str, ended_at: float, *, lived: float = 0.5, error: str = "task: non-zero exit (1)") -> Task:
    return task(
        name,
        state="failed",
        wanted=False,
        error=error,
        container_id=name,
        created_at=ended_at - lived,
        changed_at=ended_at,
    )


def recorded(name: str, state: ContainerState = ContainerState.IDLE, job: str | None = None) -> ContainerStatus:
    return ContainerStatus(id=name, node="node1", state=state, started_at=5.0, job=job)


def look(tasks: list[Task], *observed: ContainerStatus, requested: int = 1, image: str = "") -> Look:
    return status_of(tasks, [READY, DOWN], observed, requested=requested, now=NOW, image=image)


def states(found: Look) -> list[tuple[str, str]]:
    return [(container.id, container.state.value) for container in found.service.containers]


def test_starting_idle_busy_and_draining_are_told_apart() -> None:
    tasks = [
        task("1", container_id="", state="preparing"),
        task("2", container_id="new"),
        task("3", container_id="idle"),
        task("4", container_id="busy"),
        task("5", container_id="gone", wanted=False),
        task("6", container_id="past", wanted=False, state="complete"),
        task("7", container_id="never", wanted=False, state="assigned"),
    ]
    busy = recorded("busy", ContainerState.BUSY, "job-1")
    found = look(tasks, recorded("idle"), busy, recorded("gone", ContainerState.BUSY, "job-2"))
    assert states(found) == [
        ("1", "starting"), ("new", "starting"), ("idle", "idle"), ("busy", "busy"), ("gone", "draining"),
    ]  # fmt: skip
    assert [container.job for container in found.service.containers][-2:] == ["job-1", "job-2"]
    assert found.draining == ("gone",)
    assert found.service.problem == ""


def test_an_agent_may_know_first_that_a_container_drains() -> None:
    assert states(look([RUNNING], recorded("c", ContainerState.DRAINING))) == [("c", "draining")]


def test_a_container_on_a_node_that_is_down_is_lost() -> None:
    tasks = [task("1", container_id="here"), task("2", container_id="there", node_id="n2", wanted=False)]
    found = look(tasks, recorded("here"), recorded("there"))
    assert states(found) == [("here", "idle")]
    assert (found.lost, found.draining, found.unknown) == (("there",), (), ())


def test_a_recorded_container_that_no_task_has_is_not_counted() -> None:
    found = look([RUNNING], recorded("c"), recorded("x"))
    assert states(found) == [("c", "idle")]
    assert found.unknown == ("x",)


def test_what_no_node_has_room_for_is_counted_apart_with_swarms_reason() -> None:
    error = "no suitable node (insufficient resources on 3 nodes)"
    waiting = [task(str(n), place=str(n), node_id="", container_id="", state="pending", error=error) for n in (1, 2)]
    found = look([*waiting, task("3", place="3")], recorded("c"), requested=3)
    assert states(found) == [("c", "idle")]
    assert found.service.unplaced == 2
    assert found.service.problem == f"2 of 3 containers wait for a node: {error}"


def test_a_missing_image_is_a_problem_at_once_and_none_any_more_when_it_runs() -> None:
    rejected = replace(failed("1", 999.0, error="No such image: nosuch:1"), state="rejected")
    found = look([rejected, task("2", container_id="", state="preparing", created_at=999.0)])
    assert found.service.problem.startswith("1 of 1 container cannot be started: No such image: nosuch:1 (the node")
    assert "JQUEUER_REGISTRY_AUTH_FILE" in found.service.problem
    assert states(found) == [("2", "starting")]
    assert look([rejected, task("2", created_at=999.0, changed_at=999.5)]).service.problem == ""


def test_a_container_that_died_once_is_no_problem_and_one_that_ends_again_and_again_is() -> None:
    now_starting = task("n", container_id="", state="ready", created_at=999.5)
    assert look([failed("1", 999.0), now_starting]).service.problem == ""
    assert look([failed("1", 500.0, lived=300), failed("2", 999.0), now_starting]).service.problem == ""
    found = look([failed("1", 997.0), failed("2", 999.0, error="task: non-zero exit (127)"), now_starting])
    assert "ends at once (task: non-zero exit (127))" in found.service.problem


def test_a_container_that_ends_again_and_again_is_a_problem_while_it_runs_for_a_moment_too() -> None:
    past = [failed("1", 997.0), failed("2", 999.0)]
    assert "ends at once" in look([*past, task("n", created_at=999.5, changed_at=999.8)]).service.problem
    assert look([*past, task("n", created_at=980.0, changed_at=985.0)]).service.problem == ""


def test_a_start_that_fails_is_a_problem_at_once() -> None:
    error = "starting container failed: unable to find user nobodyhere"
    found = look([failed("1", 999.0, error=error), task("n", container_id="", state="assigned", created_at=999.5)])
    assert found.service.problem == f"1 of 1 container cannot be started: {error}"


def test_the_same_complaint_of_several_containers_is_made_once() -> None:
    tasks = []
    for place in ("1", "2"):
        tasks.append(replace(failed(f"f{place}", 999.0, error="invalid mount"), state="rejected", place=place))
        tasks.append(task(f"n{place}", place=place, container_id="", state="assigned", created_at=999.5))
    assert look(tasks, requested=2).service.problem == "2 of 2 containers cannot be started: invalid mount"


def test_a_pull_and_a_name_that_may_mean_different_images_are_noted() -> None:
    preparing = task("1", container_id="", state="preparing")
    note = look([preparing, replace(preparing, id="2")], image="tools:2").service.note
    assert "on node1" in note
    assert "'tools:2'" in note
    assert look([RUNNING], image="tools:2@sha256:00").service.note == ""


def test_what_others_reserve_is_told_apart_from_experiments() -> None:
    def reserving(node: str, cores: float, **labels: str) -> dict[str, Any]:
        reservations = {"NanoCPUs": int(cores * 1e9), "MemoryBytes": 100}
        return {
            "NodeID": node,
            "Spec": {"ContainerSpec": {"Labels": labels}, "Resources": {"Reservations": reservations}},
        }

    tasks = [reserving("n1", 0.5), reserving("n1", 0.25, a="b"), reserving("n1", 1, **{"jqueuer.experiment": "e"})]
    tasks.append({"NodeID": "n1", "Spec": {"ContainerSpec": {}}})
    [node] = nodes_of([READY, DOWN], tasks)
    assert (node.name, node.cpu_cores, node.foreign_cpu_cores, node.foreign_memory_bytes) == ("node1", 2, 0.75, 200)
    assert [one.name for one in node_statuses([DOWN, READY], tasks)] == ["node1", "node2"]
    first, second = node_statuses([READY, DOWN], tasks)
    assert (first.ready, first.reserved_cpu_cores, first.reserved_memory_bytes, first.containers) == (
        True,
        1.75,
        300,
        1,
    )
    assert (second.ready, second.reserved_cpu_cores, second.containers) == (False, 0, 0)


@pytest.mark.parametrize(
    ("state", "availability", "condition"),
    [("ready", "active", ""), ("ready", "drain", "drain"), ("ready", "pause", "pause"), ("down", "active", "down")],
)
def test_a_node_that_takes_no_containers_says_why(state: str, availability: str, condition: str) -> None:
    machine = Machine.read({"ID": "n1", "Spec": {"Availability": availability}, "Status": {"State": state}})
    assert (machine.usable, machine.condition) == (not condition, condition)
