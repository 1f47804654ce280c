"""A laboratory: some Docker engines and an image registry, joined by a switch, on this one machine.

    with Lab(tmp_path, nodes=3) as lab:
        lab.swarm()
        lab.nodes[2].power_off()

Needs root; `tests.lab.available.why_not` says whether it can run here. The hard parts are in ``lab.sh``.
"""

from __future__ import annotations

import os
import subprocess
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import TracebackType
from typing import Self

from tests.lab import busybox, slots
from tests.lab.node import Node, tail
from tests.lab.waiting import LabError, wait_until

SCRIPT = Path(__file__).with_name("lab.sh")
_NANOSECONDS = {"ms": 1_000_000, "s": 1_000_000_000}
_START_SECONDS = 60.0
_REMOVED_AT_ONCE = 8


class Lab:
    """Nodes and a registry; up with :meth:`up` or as a context manager.

    `name` and `subnet` ("10.78.0") are the first free ones where they are not given. `registry_data` is where the
    registry keeps images, so that several laboratories can share them. Engines start empty.
    """

    registry = "registry:5000"
    """The registry's name on the nodes; also their mirror, so that "busybox" is first looked for there."""

    def __init__(
        self,
        directory: Path,
        *,
        name: str = "",
        subnet: str = "",
        nodes: int = 3,
        registry_data: Path | None = None,
    ) -> None:
        if bool(name) != bool(subnet):
            raise LabError("a laboratory is given both a name and a subnet, or neither")
        self.directory = directory
        self._wanted = (name, subnet)
        self._size = nodes
        self._registry_data = registry_data or directory / "registry"
        self._slot: slots.Slot | None = None
        self.nodes: list[Node] = []

    @property
    def shared(self) -> Path:
        """A directory that every node sees under this same path."""
        return self.directory / "shared"

    @property
    def slot(self) -> slots.Slot:
        """The laboratory's name and subnet."""
        if self._slot is None:
            raise LabError("this laboratory is not up")
        return self._slot

    @property
    def registry_url(self) -> str:
        """The registry as this machine reaches it: "http://10.78.0.5:5000"."""
        return f"http://{self.slot.subnet}.5:5000"

    def up(self) -> Self:
        """Start everything; returns when all engines and the registry answer."""
        self._slot = slots.take(*self._wanted)
        try:
            self._start()
        except BaseException:
            self.down()
            raise
        return self

    def down(self) -> None:
        """End everything that was started, in whatever state it is."""
        if self._slot is None:
            return
        for node in self.nodes:
            node.close()
        self._call("down")
        self._remove_disks()
        self._slot.release()
        self._slot = None
        self.nodes = []

    def leave(self) -> None:
        """Let everything go on when this process ends; a later laboratory of the same name ends it."""
        self._slot = None

    def remove(self) -> None:
        """End what another process left of a laboratory of this name."""
        self._slot = slots.take(*self._wanted)
        self.down()

    def __enter__(self) -> Self:
        return self.up()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.down()

    def swarm(self, *, heartbeat: str = "1s") -> None:
        """Join the nodes to a Swarm, the first one its manager; a node is down after three missed heartbeats."""
        manager, *workers = self.nodes
        manager.docker.swarm.init(
            advertise_addr=manager.address, listen_addr=manager.address,
            dispatcher_heartbeat_period=_nanoseconds(heartbeat),
        )  # fmt: skip
        token = manager.docker.swarm.attrs["JoinTokens"]["Worker"]
        for worker in workers:
            worker.docker.swarm.join(
                [f"{manager.address}:2377"], token, advertise_addr=worker.address, listen_addr=worker.address
            )
        wait_until(
            lambda: self.ready_nodes() == {node.name for node in self.nodes},
            _START_SECONDS,
            lambda: f"of the Swarm only {sorted(self.ready_nodes())} are ready",
        )

    def ready_nodes(self) -> set[str]:
        """Names of the nodes that the Swarm's manager sees as ready."""
        seen = self.nodes[0].docker.nodes.list()
        return {node.attrs["Description"]["Hostname"] for node in seen if node.attrs["Status"]["State"] == "ready"}

    def busybox(self, node: Node, name: str = "busybox:latest") -> None:
        """Bring the image `name`, all of Busybox in 2 MB, into a node's engine."""
        busybox.import_into(node.docker, name, busybox.root_filesystem(), 'CMD ["sh"]')

    def _start(self) -> None:
        self.directory.mkdir(parents=True, exist_ok=True)
        self.shared.mkdir(exist_ok=True)
        self._call("down")
        run = slots.RUN_DIR / self.slot.name
        self._remove_disks()
        for number in range(1, self._size + 1):
            log = self.directory / f"node{number}" / "log"
            self.nodes.append(Node(number, self.slot.subnet, run / f"{number}.sock", log, self._call))
        self._call("net-up")
        self._call("registry-up")
        for node in self.nodes:
            node.start()
        for node in self.nodes:
            node.wait(_START_SECONDS)
        wait_until(
            self._registry_answers,
            _START_SECONDS,
            lambda: f"the registry does not answer\n{tail(self.directory / 'registry.log')}",
        )

    def _remove_disks(self) -> None:
        """Layers side by side: a disk that is told of every file that goes takes a moment for each."""
        with ThreadPoolExecutor(_REMOVED_AT_ONCE) as pool:
            list(pool.map(_remove, self.directory.glob("node[1-9]/data/overlay2/*")))
            list(pool.map(_remove, self.directory.glob("node[1-9]")))

    def _registry_answers(self) -> bool:
        try:
            with urllib.request.urlopen(f"{self.registry_url}/v2/", timeout=2) as answer:
                return bool(answer.status == 200)
        except (urllib.error.URLError, OSError):
            return False

    def _call(self, command: str, node: int | None = None) -> None:
        call(
            self.slot.name, command, node, LAB_SUBNET=self.slot.subnet, LAB_NODES=str(self._size),
            LAB_DIR=str(self.directory), LAB_REGISTRY=str(self._registry_data),
        )  # fmt: skip


def call(name: str, command: str, node: int | None = None, **environment: str) -> None:
    """Run one command of ``lab.sh``; :class:`~tests.lab.waiting.LabError` with its words when it fails."""
    arguments = ["bash", str(SCRIPT), command, *([] if node is None else [str(node)])]
    done = subprocess.run(
        arguments, env={**os.environ, "LAB_NAME": name, **environment}, stdin=subprocess.DEVNULL,
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode:
        raise LabError(f"lab.sh {command} of laboratory {name}: {done.stderr.strip() or done.returncode}")


def _remove(tree: Path) -> None:
    """By the command: of a hundred thousand files it makes far less work than Python."""
    subprocess.run(["rm", "-rf", tree], check=True)


def _nanoseconds(text: str) -> int:
    unit = "ms" if text.endswith("ms") else "s"
    return round(float(text.removesuffix(unit)) * _NANOSECONDS[unit])
