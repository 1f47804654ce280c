"""One container, as the engine's API shows it: execs, files, its state. Errors come as the project's own."""

from __future__ import annotations

import base64
import contextlib
import http.client
import json
import time
from collections.abc import Iterable, Iterator
from typing import Any, Final, NamedTuple

from jqueuer.errors import ContainerGoneError, EngineUnavailableError
from jqueuer_agent.adapters.docker import http_api
from jqueuer_agent.adapters.docker.http_api import EngineRefusedError
from jqueuer_agent.adapters.docker.stream import ExecStream

_TIMEOUT_SECONDS: Final = 30.0
_INSPECT_TIMEOUT_SECONDS: Final = 5.0
_SCRIPT_SECONDS: Final = 20.0
_DYING_SECONDS: Final = 1.0
_GONE: Final = frozenset({404, 409})
_NOT_FOUND: Final = 404
_NOTHING_THERE: Final = frozenset({404, 500})
"""The latter for links that lead in circles; without a body, as this is asked, it says no more."""
_DIRECTORY: Final = 1 << 31
"""In Go's file modes."""


class PathStat(NamedTuple):
    """What lies at a path: a directory or not; where a link leads in the end, as an absolute path."""

    is_directory: bool
    link_target: str


class ExecState(NamedTuple):
    """Whether an exec goes on, and how it ended."""

    running: bool
    exit_code: int | None


class Engine:
    """The engine, for one container; called by one thread at a time."""

    def __init__(self, url: str, container_id: str, *, adopted: bool = False) -> None:
        self.container_id = container_id
        self._url = url
        self._path = f"/containers/{container_id}"
        self._adopted = adopted

    def exec(
        self,
        argv: Iterable[str],
        *,
        user: str,
        environment: dict[str, str] | None = None,
        working_directory: str | None = None,
        stdin: bool = False,
    ) -> ExecStream:
        """Start a command in the container, attached to its streams."""
        asked = {
            "Cmd": list(argv),
            "User": user,
            "Env": [f"{name}={value}" for name, value in (environment or {}).items()],
            "WorkingDir": working_directory or "",
            "AttachStdin": stdin,
            "AttachStdout": True,
            "AttachStderr": True,
        }
        with self._errors():
            created = self._ask("POST", f"{self._path}/exec", asked)
            return ExecStream(self._url, created["Id"])

    def exec_state(self, exec_id: str) -> ExecState:
        """How an exec is; asked while jobs wait, so it does not take long even where the engine hangs."""
        with self._errors():
            found = self._ask("GET", f"/exec/{exec_id}/json", timeout_seconds=_INSPECT_TIMEOUT_SECONDS)
        return ExecState(found["Running"], found["ExitCode"])

    def script(self, text: str, *, user: str) -> str:
        """What a short script writes, by an exec of its own."""
        with contextlib.closing(self.exec(["sh", "-c", text], user=user)) as stream:
            return stream.read_all(time.monotonic() + _SCRIPT_SECONDS).decode(errors="replace")

    def inspect(self) -> dict[str, Any]:
        """What the engine knows about the container."""
        with self._errors():
            return dict(self._ask("GET", f"{self._path}/json"))

    def memory_limit_bytes(self) -> int:
        """What the container may use; 0 where that is not limited."""
        return int(self.inspect()["HostConfig"].get("Memory") or 0)

    def is_running(self) -> bool:
        """Whether the container runs; False where there is none any more."""
        try:
            return bool(self.inspect()["State"]["Running"])
        except ContainerGoneError:
            return False

    def is_dying(self) -> bool:
        """Whether the container does not run any more: the engine itself may learn that only in a moment."""
        ends_at = time.monotonic() + _DYING_SECONDS
        while time.monotonic() < ends_at:
            try:
                if not self._ask("GET", f"{self._path}/json")["State"]["Running"]:
                    return True
            except EngineRefusedError as error:
                return error.status == _NOT_FOUND
            except (OSError, http.client.HTTPException):
                return False
            time.sleep(_DYING_SECONDS / 20)
        return False

    def processes(self) -> set[int]:
        """The container's processes, by their ids on the node."""
        return set(self._parents())

    def orphans(self) -> set[int]:
        """Those that were left by their parents to the container's own init; none where it has no such."""
        found = self.inspect()
        init = found["State"]["Pid"] if found["HostConfig"].get("Init") else None
        return {process for process, parent in self._parents().items() if parent == init}

    def _parents(self) -> dict[int, int]:
        with self._errors():
            top = self._ask("GET", f"{self._path}/top", query={"ps_args": "-o pid,ppid"})
        if not top["Processes"]:  # not even the first
            raise ContainerGoneError(f"container {self.container_id} died")
        return {int(row[0]): int(row[1]) for row in top["Processes"]}

    def has_running_execs(self) -> bool:
        """Whether something runs in the container that was brought by an exec, other than its health check."""
        found = self.inspect()
        checked = (found["Config"].get("Healthcheck") or {}).get("Test")
        return not checked and any(self.exec_state(exec_id).running for exec_id in found["ExecIDs"] or ())

    def kill(self) -> None:
        """End the container, unless it is a user's own: that is not ours to end."""
        if self._adopted:
            return
        with contextlib.suppress(ContainerGoneError), self._errors():
            self._ask("POST", f"{self._path}/kill", query={"signal": "SIGKILL"})

    def ran_out_of_memory(self, since: float) -> bool:
        """Whether something in the container was killed for lack of memory since a moment (seconds of the epoch)."""
        filters = json.dumps({"container": [self.container_id], "event": ["oom"]})
        query = {"since": f"{since:.6f}", "until": f"{time.time():.6f}", "filters": filters}
        with self._errors():
            events = http_api.download(self._url, "/events", query=query, timeout_seconds=_TIMEOUT_SECONDS)
            return any(piece.strip() for piece in events)

    def put_archive(self, directory: str, archive: Iterable[bytes]) -> None:
        """Unpack a tar archive in a directory of the container; :class:`OSError` where that cannot be."""
        try:
            with self._errors():
                self._put(directory, archive)
        except _WriteRefusedError as error:
            if self.is_dying():
                raise ContainerGoneError(f"container {self.container_id} died: {error}") from error
            raise OSError(f"{directory} in the container cannot be written: {error}") from error

    def _put(self, directory: str, archive: Iterable[bytes]) -> None:
        try:
            http_api.upload(
                self._url,
                f"{self._path}/archive",
                query={"path": directory},
                chunks=archive,
                timeout_seconds=_TIMEOUT_SECONDS,
            )
        except EngineRefusedError as error:
            if _no_container(error):
                raise
            raise _WriteRefusedError(error.words) from error

    def path_stat(self, path: str) -> PathStat | None:
        """What a path of the container is; None where there is nothing."""
        with self._errors():
            try:
                headers = http_api.head(
                    self._url, f"{self._path}/archive", query={"path": path}, timeout_seconds=_TIMEOUT_SECONDS
                )
            except EngineRefusedError as error:
                if error.status not in _NOTHING_THERE:
                    raise
                self.inspect()
                return None
        found = json.loads(base64.b64decode(headers["X-Docker-Container-Path-Stat"]))
        return PathStat(bool(found["mode"] & _DIRECTORY), found["linkTarget"])

    def archive(self, path: str) -> Iterator[bytes]:
        """A tar archive of what is at a path of the container; :class:`FileNotFoundError` where that is nothing."""
        with self._errors():
            try:
                chunks = http_api.download(
                    self._url, f"{self._path}/archive", query={"path": path}, timeout_seconds=_TIMEOUT_SECONDS
                )
            except EngineRefusedError as error:
                if error.status != _NOT_FOUND or _no_container(error):
                    raise
                chunks = None
        if chunks is None:
            raise FileNotFoundError(path)
        return self._guarded(chunks)

    def _guarded(self, chunks: Iterable[bytes]) -> Iterator[bytes]:
        with self._errors():
            yield from chunks

    def _ask(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        query: http_api.Query | None = None,
        timeout_seconds: float = _TIMEOUT_SECONDS,
    ) -> Any:
        return http_api.ask(self._url, method, path, query=query, body=body, timeout_seconds=timeout_seconds)

    @contextlib.contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except EngineRefusedError as error:
            if error.status in _GONE:
                raise ContainerGoneError(f"container {self.container_id} is gone: {error.words}") from error
            if self.is_dying():
                raise ContainerGoneError(f"container {self.container_id} died: {error.words}") from error
            raise self._unavailable(error) from error
        except (OSError, http.client.HTTPException, ValueError) as error:
            raise self._unavailable(error) from error

    def _unavailable(self, error: Exception) -> EngineUnavailableError:
        return EngineUnavailableError(
            f"the container engine at {self._url} failed for container {self.container_id}: {error}"
        )


class _WriteRefusedError(Exception):
    """The engine answers, and does not write."""


def _no_container(error: EngineRefusedError) -> bool:
    return "no such container" in error.words.lower()
