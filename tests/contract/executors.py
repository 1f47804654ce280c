"""The executors under test, each with what it takes to say the same things to it."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
import textwrap
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from docker.models.containers import Container

from jqueuer.ports import Executor
from jqueuer.records import CommandResult
from jqueuer_agent.adapters.docker.engine import Engine
from jqueuer_agent.adapters.docker.per_exec import ExecExecutor
from jqueuer_agent.adapters.docker.resident import ResidentExecutor
from tests.contract.job_images import JobImage
from tests.lab.node import Node

HEARTBEAT_SECONDS = 0.05
GRACE_SECONDS = 0.3
KEPT_BYTES = 8 << 20


@dataclass
class Sink:
    """Where one stream goes: the beginning itself, of the rest what can be said about it."""

    kept: bytearray = field(default_factory=bytearray)
    size: int = 0
    largest: int = 0
    digest: Any = field(default_factory=hashlib.sha256)

    def write(self, data: bytes) -> None:
        self.size += len(data)
        self.largest = max(self.largest, len(data))
        self.digest.update(data)
        self.kept += data[: KEPT_BYTES - len(self.kept)]


@dataclass
class Call:
    """One command."""

    argv: Sequence[str]
    environment: dict[str, str]
    working_directory: str | None
    timeout_seconds: float | None


class Run(Protocol):
    """A command under way."""

    def stop(self) -> None: ...

    def result(self) -> CommandResult: ...

    def stream(self, name: str) -> Sink: ...


class Bench(Protocol):
    """An executor, and what is around it."""

    name: str
    shell: tuple[str, ...]
    call: str
    binary: str
    """The path, inside, of a file that is ``binary_content``."""
    binary_content: Path

    def begin(self, call: Call) -> Run: ...


_LOCAL = textwrap.dedent(
    """
    import json, sys, pathlib
    from jqueuer.adapters.processes import adopt_orphans
    from jqueuer_agent.adapters.local_executor import LocalExecutor
    from tests.contract.executors import GRACE_SECONDS, HEARTBEAT_SECONDS

    adopt_orphans()
    out, call = pathlib.Path(sys.argv[1]), json.load(sys.stdin)
    streams = {name: (out / name).open("wb", buffering=0) for name in ("stdout", "stderr")}
    result = LocalExecutor(heartbeat_seconds=HEARTBEAT_SECONDS, grace_seconds=GRACE_SECONDS).run(
        write=lambda name, data: streams[name].write(data), keep_going=lambda: not (out / "stop").exists(),
        role="task 1", **call)
    print(result.model_dump_json())
    """
)


class LocalRun:
    """A command in a process of its own, as in the manager of a local container."""

    def __init__(self, directory: Path, call: Call) -> None:
        self._directory = directory
        self._process = subprocess.Popen(
            [sys.executable, "-c", _LOCAL, str(directory)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parents[2],
        )  # fmt: skip
        assert self._process.stdin is not None
        json.dump(vars(call), self._process.stdin)
        self._process.stdin.close()
        self._process.stdin = None

    def stop(self) -> None:
        (self._directory / "stop").touch()

    def result(self) -> CommandResult:
        output, _ = self._process.communicate(timeout=60)
        return CommandResult.model_validate_json(output)

    def stream(self, name: str) -> Sink:
        sink = Sink()
        path = self._directory / name
        with path.open("rb") as file:
            while data := file.read(1 << 16):
                sink.write(data)
        return sink


@dataclass
class LocalBench:
    """Commands as child processes."""

    directory: Path
    name: str = "local"
    shell: tuple[str, ...] = ("sh", "-c")
    call: str = ""
    binary: str = sys.executable
    binary_content: Path = Path(sys.executable)
    _runs: int = 0

    def begin(self, call: Call) -> Run:
        self._runs += 1
        directory = self.directory / str(self._runs)
        directory.mkdir(parents=True)
        call.environment = {"PATH": os.environ["PATH"], **call.environment}
        return LocalRun(directory, call)


class DockerRun:
    """A command in a container, watched by a thread of ours."""

    def __init__(self, executor: Executor, call: Call) -> None:
        self._streams = {"stdout": Sink(), "stderr": Sink()}
        self._stopped = threading.Event()
        self._ended: Callable[[], CommandResult] | None = None
        self._thread = threading.Thread(target=self._run, args=(executor, call), daemon=True)
        self._thread.start()

    def _run(self, executor: Executor, call: Call) -> None:
        try:
            result = executor.run(
                **vars(call),
                write=lambda name, data: self._streams[name].write(data),
                keep_going=lambda: not self._stopped.is_set(),
                role="task 1",
            )
            self._ended = lambda: result
        except BaseException as error:
            failure = error

            def fail() -> CommandResult:
                raise failure

            self._ended = fail

    def stop(self) -> None:
        self._stopped.set()

    def result(self) -> CommandResult:
        self._thread.join(60)
        assert self._ended is not None, "the command did not end within 60 s"
        return self._ended()

    def stream(self, name: str) -> Sink:
        return self._streams[name]


@dataclass
class DockerBench:
    """Commands in a container of a real engine."""

    name: str
    node: Node
    image: JobImage
    container: Container
    resident: bool
    binary: str = "/bin/busybox"
    binary_content: Path = Path(shutil.which("busybox") or "")

    def __post_init__(self) -> None:
        self.executor = self.new_executor()

    @property
    def engine(self) -> Engine:
        return Engine(self.node.docker_url, str(self.container.id)[:12])

    @property
    def shell(self) -> tuple[str, ...]:
        return self.image.shell

    @property
    def call(self) -> str:
        return self.image.call

    def new_executor(self, user: str = "") -> ResidentExecutor | ExecExecutor:
        times = {"heartbeat_seconds": HEARTBEAT_SECONDS, "grace_seconds": GRACE_SECONDS}
        if self.resident:
            return ResidentExecutor(self.engine, user=user, own=True, **times)
        return ExecExecutor(self.engine, user=user, own=True, has_shell=self.image.call == "", **times)

    def begin(self, call: Call) -> Run:
        return DockerRun(self.executor, call)


def processes(token: str) -> list[int]:
    """The living processes, in whatever container, with a word of their command line that is the token."""
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        try:
            words = (path / "cmdline").read_bytes().split(b"\0")
            state = (path / "stat").read_text().rpartition(") ")[2][0]
        except OSError:
            continue
        if token.encode() in words and state not in "ZX":
            found.append(int(path.name))
    return found
