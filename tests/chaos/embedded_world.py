"""The system on this machine: its processes are killed and stopped."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import redis

from jqueuer.adapters.celery_queue import queue_name
from jqueuer.client import Client
from jqueuer.embedded import MARKER
from tests.chaos.accounting import Hit
from tests.chaos.running import soon
from tests.chaos.schedule import Fault, Kind
from tests.embedded.running import System
from tests.processes import control_of, descendants, kill_and_see_gone

LEASE_SECONDS: Final = 4.0
SETTINGS: Final = {"JQUEUER_LEASE_SECONDS": f"{LEASE_SECONDS:g}s", "JQUEUER_MAX_LOST_ATTEMPTS": "1000"}
"""A job that is hit again and again is not to blame for it here."""

CONTAINERS: Final = 3
_LONG_SECONDS: Final = LEASE_SECONDS + 1.0
_BRIEF_SECONDS: Final = LEASE_SECONDS / 4
_NODE: Final = "local"
_PROCESSES: Final = ("jqueuer_manager", "jqueuer_agent", "store")
_RUNNING_STATES: Final = ("R", "S", "D")

CONTAINER_KILLED: Final = Kind("container killed", 5)
AGENT_KILLED: Final = Kind("agent killed", 3)
MANAGER_KILLED: Final = Kind("manager killed", 3)
CONTROL_KILLED: Final = Kind("control process killed", 2)
STORE_KILLED: Final = Kind("store killed", 3)
BROKER_EMPTIED: Final = Kind("broker emptied", 2)
CONTAINER_STOPPED: Final = Kind("container stopped", 1)
NODE_PAUSED: Final = Kind("node paused", 2, sparing=True)
ALL_KILLED: Final = Kind("everything killed", 2)


class EmbeddedWorld:
    """A :class:`~tests.chaos.running.World` of processes; `start` begins it, and begins it anew after a crash."""

    kinds = (
        CONTAINER_KILLED, AGENT_KILLED, MANAGER_KILLED, CONTROL_KILLED, STORE_KILLED,
        BROKER_EMPTIED, CONTAINER_STOPPED, NODE_PAUSED, ALL_KILLED,
    )  # fmt: skip
    lease_seconds = LEASE_SECONDS

    def __init__(self, start: Callable[[], System]) -> None:
        self._start = start
        self._system = start()
        self._faults = {
            CONTAINER_KILLED: self._kill_container,
            AGENT_KILLED: self._kill_agent,
            MANAGER_KILLED: lambda fault, x: self._kill("jqueuer_manager", Hit()),
            CONTROL_KILLED: self._kill_control,
            STORE_KILLED: lambda fault, x: self._kill("store", Hit(everything=True)),
            BROKER_EMPTIED: self._empty_broker,
            CONTAINER_STOPPED: self._stop_container,
            NODE_PAUSED: self._pause_node,
            ALL_KILLED: self._kill_everything,
        }

    @property
    def api(self) -> Client:
        """The manager's API, where it is now."""
        return self._system.api

    def description(self, jobs: list[dict[str, Any]]) -> dict[str, Any]:
        """A few containers, whose number stays."""
        return {"name": "chaos", "containers": {"min": CONTAINERS, "max": CONTAINERS}, "jobs": jobs}

    def missing(self) -> str:
        """Which of its processes do not run."""
        pids = self._system.embedded.pids
        gone = [name for name in _PROCESSES if name not in pids or _state(pids[name]) not in _RUNNING_STATES]
        return ", ".join(gone)

    def inject(self, fault: Fault, experiment_id: str) -> tuple[str, Hit]:
        """See :class:`~tests.chaos.running.World`."""
        return self._faults[fault.kind](fault, experiment_id)

    def _kill(self, name: str, hit: Hit) -> tuple[str, Hit]:
        kill_and_see_gone([self._system.embedded.pids[name]])
        return name, hit

    def _kill_agent(self, fault: Fault, experiment_id: str) -> tuple[str, Hit]:
        """Its container managers end as they notice, and may have taken another job until then."""
        agent = self._system.embedded.pids["jqueuer_agent"]
        kill_and_see_gone([agent], others=descendants(agent))
        with self._connection(database=0) as store:
            store.ping()  # answered after all that the dead have still asked
        return "jqueuer_agent", Hit(everything=True)

    def _kill_control(self, fault: Fault, experiment_id: str) -> tuple[str, Hit]:
        kill_and_see_gone(soon(lambda: control_of(self._system.embedded.pids["jqueuer_manager"])))
        return "jqueuer_manager.control", Hit()

    def _kill_container(self, fault: Fault, experiment_id: str) -> tuple[str, Hit]:
        container, pid = self._container(fault)
        kill_and_see_gone([pid])
        return container, Hit(containers=frozenset({container}), for_good=True)

    def _stop_container(self, fault: Fault, experiment_id: str) -> tuple[str, Hit]:
        """Its command goes on and ends meanwhile; what its manager then says of it comes too late."""
        container, pid = self._container(fault)
        with _stopped([pid]):
            time.sleep(_LONG_SECONDS)
        return container, Hit(containers=frozenset({container}))

    def _pause_node(self, fault: Fault, experiment_id: str) -> tuple[str, Hit]:
        agent = self._system.embedded.pids["jqueuer_agent"]
        with _stopped([agent, *descendants(agent)]):
            time.sleep(_BRIEF_SECONDS)
        return _NODE, Hit(nodes=frozenset({_NODE}))

    def _empty_broker(self, fault: Fault, experiment_id: str) -> tuple[str, Hit]:
        with self._connection(database=1) as broker:
            broker.flushdb()
        return queue_name(experiment_id), Hit()

    def _kill_everything(self, fault: Fault, experiment_id: str) -> tuple[str, Hit]:
        embedded = self._system.embedded
        _signal_all(list(embedded.pids.values()), signal.SIGKILL)
        embedded.stop(force=True)
        self._system.api.close()
        self._system = self._start()
        return "all processes", Hit(everything=True)

    def _connection(self, database: int) -> redis.Redis:
        return redis.Redis.from_url(f"unix://{self._system.embedded.state_dir}/store/valkey.sock?db={database}")

    def _container(self, fault: Fault) -> tuple[str, int]:
        """A container that holds a job, and its manager's process."""
        return fault.choose(soon(lambda: sorted(self._busy().items())))

    def _busy(self) -> dict[str, int]:
        """Commands of jobs know their container, and are children of its manager, which does not."""
        marker = f"{MARKER}={self._system.embedded.state_dir}"
        found = {}
        for process in Path("/proc").glob("[0-9]*"):
            environment = _environment(process)
            if marker in environment and (container := _value(environment, "JQUEUER_CONTAINER")):
                parent = _parent(int(process.name))
                above = _environment(Path(f"/proc/{parent}"))
                if marker in above and not _value(above, "JQUEUER_CONTAINER"):
                    found[container] = parent
        return found


@contextlib.contextmanager
def _stopped(pids: list[int]) -> Iterator[None]:
    try:
        _signal_all(pids, signal.SIGSTOP)
        yield
    finally:
        _signal_all(pids, signal.SIGCONT)


def _signal_all(pids: list[int], number: signal.Signals) -> None:
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):  # commands come to their end at any moment
            os.kill(pid, number)


def _environment(process: Path) -> list[str]:
    try:
        return (process / "environ").read_bytes().decode(errors="replace").split("\0")
    except OSError:
        return []


def _value(environment: list[str], name: str) -> str:
    return next((entry.partition("=")[2] for entry in environment if entry.startswith(f"{name}=")), "")


def _status(pid: int) -> list[str]:
    """The fields of the process's line after its name: state, parent …; "X" where it is gone."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return ["X", "0"]


def _state(pid: int) -> str:
    return _status(pid)[0]


def _parent(pid: int) -> int:
    return int(_status(pid)[1])
