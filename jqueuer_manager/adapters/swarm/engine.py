"""The engine's HTTP API, below docker-py's models: what is sent is exactly what is written here.

docker-py's ``Service.scale`` and ``update_service`` send a specification filled up with defaults, which Swarm takes for
a change of every container, and restarts them. So specifications travel raw.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any, Final

import docker
import requests
from docker.errors import DockerException

from jqueuer.errors import EngineUnavailableError

_CONNECT_SECONDS: Final = 3.0
_ANSWER_SECONDS: Final = 10.0
_CONNECTIONS: Final = 32
_NO_MANAGER: Final = "not a swarm manager"

NOT_A_MANAGER: Final = (
    "this engine is not a Swarm manager: run `docker swarm init` there, "
    "or name a manager's engine in JQUEUER_DOCKER_URL"
)


class EngineRefusedError(EngineUnavailableError):
    """The engine answered, and refused."""

    def __init__(self, status: int, message: str) -> None:
        self.status = status
        super().__init__(message)


class Engine:
    """One Docker engine; connects on first use and is safe among threads."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._lock = threading.Lock()
        self._session: docker.APIClient | None = None

    def get(self, path: str, *, auth: str = "", **parameters: Any) -> Any:
        """What is there; :class:`EngineRefusedError` with status 404 where nothing is."""
        return self._call("GET", path, parameters=parameters, auth=auth)

    def find(self, path: str, **parameters: Any) -> Any | None:
        """As :meth:`get`; None where nothing is."""
        try:
            return self.get(path, **parameters)
        except EngineRefusedError as error:
            if error.status == HTTPStatus.NOT_FOUND:
                return None
            raise

    def post(self, path: str, body: Mapping[str, Any], *, auth: str = "", **parameters: Any) -> Any:
        """Make or change something."""
        return self._call("POST", path, parameters=parameters, body=body, auth=auth)

    def delete(self, path: str) -> None:
        """Remove something; nothing happens where it is not there."""
        try:
            self._call("DELETE", path)
        except EngineRefusedError as error:
            if error.status != HTTPStatus.NOT_FOUND:
                raise

    def _call(
        self,
        method: str,
        path: str,
        *,
        parameters: Mapping[str, Any] | None = None,
        body: Mapping[str, Any] | None = None,
        auth: str = "",
    ) -> Any:
        try:
            session = self._connected()
            answer = session.request(
                method,
                f"{session.base_url}/v{session.api_version}{path}",
                params={name: _parameter(value) for name, value in (parameters or {}).items()},
                json=body,
                headers={"X-Registry-Auth": auth} if auth else {},
                timeout=(_CONNECT_SECONDS, _ANSWER_SECONDS),
                allow_redirects=False,  # the engine redirects paths that it would read otherwise than we wrote them
            )
            if answer.ok and not answer.is_redirect:
                return answer.json() if answer.content else None
        except (requests.RequestException, DockerException, OSError, ValueError) as error:
            raise EngineUnavailableError(f"the Docker engine at {self._url} does not answer: {error}") from error
        raise EngineRefusedError(answer.status_code, _words(answer))

    def _connected(self) -> docker.APIClient:
        with self._lock:
            if self._session is None:
                self._session = docker.APIClient(
                    base_url=self._url, version="auto", timeout=int(_ANSWER_SECONDS), max_pool_size=_CONNECTIONS
                )
            return self._session


def _parameter(value: Any) -> Any:
    return json.dumps(value) if isinstance(value, dict) else value


def _words(answer: requests.Response) -> str:
    try:
        message = str(answer.json()["message"])
    except (ValueError, KeyError, TypeError):
        message = answer.text.strip() or f"status {answer.status_code}"
    if _NO_MANAGER in message.lower():
        return NOT_A_MANAGER
    return message.rpartition("desc = ")[2]
