"""A laboratory is a real network of real engines, and leaves nothing behind."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.lab import available, slots
from tests.lab.lab import Lab
from tests.lab.waiting import LabError

Wait = Callable[[Callable[[], object]], None]


@pytest.fixture(autouse=True, scope="module")
def _possible() -> None:
    available.require()


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[Lab]:
    with Lab(tmp_path / "lab", nodes=2) as lab:
        yield lab


def remains(name: str) -> list[str]:
    """Namespaces, links and cgroups of a laboratory."""
    names = subprocess.run("ip netns list; ip -o link", shell=True, capture_output=True, text=True, check=True).stdout
    cgroups = [str(path) for path in Path("/sys/fs/cgroup").glob(f"**/{name}[0-9]")]
    return [line for line in names.splitlines() if name in line.split(":")[0] or f" {name}h@" in line] + cgroups


def test_nodes_are_separate_machines_on_one_network(lab: Lab) -> None:
    lab.swarm()
    assert lab.ready_nodes() == {"node1", "node2"}
    assert [node.docker.info()["Name"] for node in lab.nodes] == ["node1", "node2"]


def test_a_node_that_was_off_is_ready_again(lab: Lab, eventually: Wait) -> None:
    lab.swarm()
    lab.nodes[1].power_off()
    eventually(lambda: lab.ready_nodes() == {"node1"})
    assert not lab.nodes[1].answers()
    lab.nodes[1].power_on()
    eventually(lambda: lab.ready_nodes() == {"node1", "node2"})


def test_a_node_that_is_cut_off_goes_on_alone(lab: Lab, eventually: Wait) -> None:
    lab.swarm()
    lab.nodes[1].cut()
    eventually(lambda: lab.ready_nodes() == {"node1"})
    assert lab.nodes[1].answers()
    lab.nodes[1].mend()
    eventually(lambda: lab.ready_nodes() == {"node1", "node2"})


def test_commands_run_in_a_container_of_busybox(lab: Lab) -> None:
    lab.busybox(lab.nodes[0])
    assert lab.nodes[0].docker.containers.run("busybox", ["id", "-u"], remove=True) == b"0\n"


def test_nothing_is_left_of_a_laboratory(tmp_path: Path) -> None:
    with Lab(tmp_path, nodes=2) as lab:
        lab.swarm()
        lab.busybox(lab.nodes[1])
        lab.nodes[1].docker.containers.run("busybox", ["sleep", "1000"], detach=True)
        name = lab.slot.name
        assert remains(name)
    assert remains(name) == []
    assert not (slots.RUN_DIR / name).exists()


def test_what_a_killed_run_left_is_cleaned_by_the_next(tmp_path: Path) -> None:
    first = Lab(tmp_path, nodes=1).up()
    slot = first.slot
    old = first.nodes[0].docker.info()["ID"]
    first.leave()
    slot.release()
    with Lab(tmp_path / "second", name=slot.name, subnet=slot.subnet, nodes=1) as second:
        assert second.nodes[0].docker.info()["ID"] != old
    assert remains(slot.name) == []


def test_a_start_that_fails_says_why_and_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    slot = slots.take("", "")
    slot.release()
    with pytest.raises(LabError, match=f"registry-up of laboratory {slot.name}.*directory"):
        Lab(tmp_path, name=slot.name, subnet=slot.subnet, nodes=1, registry_data=tmp_path / "file" / "registry").up()
    assert remains(slot.name) == []
