"""One node of a laboratory: an engine, its address, and the ways to break it."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path

import docker

from tests.lab.waiting import wait_until

_TAIL_LINES = 30


class Node:
    """A Docker engine with an address of its own; numbered from 1, as in "node1"."""

    def __init__(self, number: int, subnet: str, socket: Path, log: Path, call: Callable[..., None]) -> None:
        self.number = number
        self.name = f"node{number}"
        self.address = f"{subnet}.1{number}"
        self.docker_url = f"unix://{socket}"
        self.log = log
        self._call = call
        self._off = True

    @functools.cached_property
    def docker(self) -> docker.DockerClient:
        """A client of this node's engine, which it reaches in every state of the network."""
        return docker.DockerClient(base_url=self.docker_url, timeout=60, max_pool_size=32)

    def close(self) -> None:
        """Close the client, where there is one."""
        if "docker" in vars(self):
            self.docker.close()

    def answers(self) -> bool:
        """Whether the engine answers now."""
        try:
            client = docker.APIClient(base_url=self.docker_url, timeout=2)
        except (docker.errors.DockerException, OSError):
            return False
        client.close()
        return True

    def wait(self, seconds: float = 60.0) -> None:
        """Until the engine answers."""
        wait_until(self.answers, seconds, lambda: f"the engine of {self.name} does not answer\n{tail(self.log)}")

    def start(self) -> None:
        """Switch on, without waiting for the engine."""
        self._call("node-up", self.number)
        self._off = False

    def power_on(self) -> None:
        """Switch on again, with the disk as it was; returns when the engine answers."""
        self.start()
        self.wait()

    def power_off(self) -> None:
        """All processes of the node die at once, and its address falls silent."""
        self._call("node-down", self.number)
        self._off = True

    def cut(self) -> None:
        """Pull the network cable: all goes on running, alone."""
        self._call("cut", self.number)

    def mend(self) -> None:
        """Plug the network cable in again."""
        self._call("mend", self.number)

    def freeze(self) -> None:
        """Stop all processes of the node where they are, like a virtual machine that is paused."""
        self._call("freeze", self.number)

    def thaw(self) -> None:
        """Let a frozen node go on."""
        self._call("thaw", self.number)

    def repair(self) -> None:
        """Undo whatever was done to the node; returns when its engine answers."""
        if self._off:
            self.power_on()
            return
        self.thaw()
        self.mend()
        self.wait()

    def kill_engine(self) -> None:
        """SIGKILL to the engine alone; it is started again after a second."""
        self._call("kill-engine", self.number)


def tail(log: Path) -> str:
    """The last lines of a log, for a message."""
    if not log.exists():
        return f"({log} was never written)"
    lines = log.read_text(errors="replace").splitlines()
    return "\n".join([f"the end of {log}:", *lines[-_TAIL_LINES:]])
