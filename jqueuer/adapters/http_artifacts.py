"""Inputs, logs and outputs by way of the manager: for agents on other machines than its state directory."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, Final

import requests

from jqueuer.adapters import tls
from jqueuer.errors import NotFoundError, RefusedError, StorageFullError, StoreUnavailableError
from jqueuer.records import OutputFile

PREFIX: Final = "/api/v1/agents"

_CONNECT_SECONDS: Final = 3.05
_ANSWER_SECONDS: Final = 10.0
"""A log is sent between two heartbeats of a job: connecting and waiting together stay well below its lease."""
_FILE_ANSWER_SECONDS: Final = 120.0
_CHUNK_BYTES: Final = 1 << 20
_ASK_FIRST_BYTES: Final = 32 << 20
"""Above this a refusal may be lost in the rush of what is still being sent, so the limit is asked for before."""

_AWAY: Final = frozenset({502, 503, 504})
_NOT_LET_IN: Final = frozenset({401, 403})


class HttpArtifacts:
    """The :class:`~jqueuer.ports.AgentArtifacts` of a manager; used by one thread at a time.

    ``ca_file`` has the certificates by which a manager behind ``https://`` is known, if not by the public authorities.
    """

    def __init__(self, url: str, token: str, *, ca_file: Path | None = None) -> None:
        self._url = url.rstrip("/") + PREFIX
        self._session = requests.Session()
        self._session.trust_env = False  # a proxy or a .netrc of the machine has no say in what agents and manager do
        self._session.verify = True if ca_file is None else str(ca_file)
        self._session.headers["Authorization"] = f"Bearer {token}"

    def close(self) -> None:
        """Close the connections."""
        self._session.close()

    def max_output_bytes(self) -> int:
        """The largest output that the manager takes; asking also tells whether it lets this agent in."""
        return int(self._request("GET", "/limits", _ANSWER_SECONDS).json()["max_output_bytes"])

    def fetch_input(self, sha256: str, destination: Path) -> None:
        """Copy an input to a path."""
        digest = self._fetch(f"/inputs/{sha256}", {}, destination)
        if digest != sha256:
            raise StoreUnavailableError(f"the input with SHA-256 {sha256} arrived with {digest}")
        destination.chmod(0o755)

    def write_log(self, experiment_id: str, job_id: str, attempt: int, stream: str, start: int, data: bytes) -> None:
        """Keep bytes of a captured stream from a position on."""
        path = f"{_attempt(experiment_id, job_id, attempt)}/logs/{stream}"
        self._request("PUT", path, _ANSWER_SECONDS, params={"start": start}, body=lambda: data)

    def put_output(self, experiment_id: str, job_id: str, attempt: int, path: str, source: Path) -> OutputFile:
        """Keep an output."""
        size_bytes = source.stat().st_size
        if size_bytes > _ASK_FIRST_BYTES and size_bytes > (limit_bytes := self.max_output_bytes()):
            raise RefusedError(f"the output {path!r} has {size_bytes} bytes; the manager takes {limit_bytes}")
        with source.open("rb") as file:

            def from_its_start() -> IO[bytes] | bytes:
                file.seek(0)
                return file if size_bytes else b""

            url = f"{_attempt(experiment_id, job_id, attempt)}/outputs"
            answer = self._request("PUT", url, _FILE_ANSWER_SECONDS, params={"path": path}, body=from_its_start)
        return OutputFile.model_validate_json(answer.content)

    def fetch_output(self, experiment_id: str, job_id: str, attempt: int, path: str, destination: Path) -> None:
        """Copy an output to a path."""
        self._fetch(f"{_attempt(experiment_id, job_id, attempt)}/outputs", {"path": path}, destination)

    def _fetch(self, path: str, params: dict[str, str], destination: Path) -> str:
        digest = hashlib.sha256()
        with (
            _manager_errors(self._url),
            self._request("GET", path, _FILE_ANSWER_SECONDS, params=params, stream=True) as answer,
        ):
            destination.parent.mkdir(parents=True, exist_ok=True)
            with destination.open("wb") as target:
                for chunk in answer.iter_content(_CHUNK_BYTES):
                    digest.update(chunk)
                    target.write(chunk)
        return digest.hexdigest()

    def _request(
        self,
        method: str,
        path: str,
        answer_seconds: float,
        *,
        body: Callable[[], IO[bytes] | bytes | None] = lambda: None,
        **options: Any,
    ) -> requests.Response:
        def send() -> requests.Response:
            timeout = (_CONNECT_SECONDS, answer_seconds)
            return self._session.request(
                method, self._url + path, data=body(), timeout=timeout, allow_redirects=False, **options
            )

        with _manager_errors(self._url):
            try:
                answer = send()
            except requests.Timeout:
                raise
            except requests.ConnectionError:
                answer = send()  # the manager may have closed a connection that had been kept from earlier
        _refuse(answer)
        return answer


def _attempt(experiment_id: str, job_id: str, attempt: int) -> str:
    return f"/experiments/{experiment_id}/jobs/{job_id}/attempts/{attempt}"


@contextmanager
def _manager_errors(url: str) -> Iterator[None]:
    try:
        yield
    except requests.RequestException as error:
        raise StoreUnavailableError(f"the manager at {url} does not answer: {error}{tls.hint(error)}") from error


def _refuse(answer: requests.Response) -> None:
    if answer.ok and answer.status_code < 300:
        return
    try:
        detail = str(answer.json()["detail"])
    except (ValueError, KeyError, TypeError):
        detail = f"{answer.status_code} {answer.reason}"
    if answer.status_code in _NOT_LET_IN:  # for whoever runs the system to mend; no job is to blame
        raise StoreUnavailableError(f"the manager does not let this agent in: {detail}")
    if answer.status_code in _AWAY:
        raise StoreUnavailableError(f"the manager cannot do it now: {detail}")
    if answer.status_code == requests.codes.not_found:
        raise NotFoundError(detail)
    if answer.status_code == requests.codes.insufficient_storage:
        raise StorageFullError(detail)
    raise RefusedError(f"the manager refused it: {detail}")
