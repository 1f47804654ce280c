"""For agents: inputs to fetch, logs and outputs to bring. Not for users, who have no agent token."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, Final

from flask import Response, request
from flask_openapi.blueprint import APIBlueprint
from pydantic import BaseModel, Field, StringConstraints

from jqueuer.errors import DescriptionError, Fault, NotFoundError, StoreUnavailableError, TooLargeError
from jqueuer_manager.api.answers import answer, in_chunks
from jqueuer_manager.api.bodies import Body
from jqueuer_manager.api.gate import Gate
from jqueuer_manager.api.parameters import PREFIX, AttemptPath, FilePath, LogPath, Query
from jqueuer_manager.api.problems import documented
from jqueuer_manager.services import Services

NAME: Final = "agents"
SECURITY: Final = "agentToken"

_BYTES: Final = {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}}
_CONTENT: Final = {"content": _BYTES, "required": False}  # what is empty is sent, too
_FILE: Final = {"description": "The file", "content": _BYTES}
_ABOUT_OMISSION_BYTES: Final = 256
"""A log of which the middle is left out says so, beyond its limit."""

_MEANT_WRONG: Final = frozenset({errno.EISDIR, errno.ENOTDIR, errno.ENAMETOOLONG, errno.EINVAL, errno.ENOTEMPTY})


class AgentLimits(BaseModel):
    """What an agent may bring."""

    max_log_bytes: int
    max_output_bytes: int


class Kept(BaseModel):
    """An output that is kept now."""

    path: str
    size_bytes: int
    sha256: str


class Start(Query):
    """Where in a stream."""

    start: Annotated[int, Field(ge=0, le=1 << 50, description="Position of the first byte")]


class OutputName(Query):
    """Which output."""

    path: Annotated[
        str, StringConstraints(pattern=r"^[^\x00]+$", max_length=4096), Field(description="Below the job's outputs")
    ]


def blueprint(services: Services, gate: Gate) -> APIBlueprint:
    """The routes over these services."""
    routes = APIBlueprint(
        NAME,
        __name__,
        url_prefix=f"{PREFIX}/agents",
        abp_tags=[{"name": "agents", "description": "Between agents and manager; needs the agents' token"}],
        abp_security=[{SECURITY: []}],
        abp_responses=documented(401, 403, 422, 503),
    )
    settings, artifacts = services.settings, services.artifacts
    routes.before_request(gate.require_agent)

    @routes.get("/limits", operation_id="agentLimits", responses={200: AgentLimits})
    def limits() -> Response:
        """Say what an agent may bring, and that it is let in."""
        return answer(AgentLimits(max_log_bytes=settings.max_log_bytes, max_output_bytes=settings.max_output_bytes))

    @routes.get("/inputs/<sha256>", operation_id="agentGetInput", responses={200: _FILE, **documented(404)})
    def fetch_input(path: FilePath) -> Response:
        """Fetch an input."""
        return Response(in_chunks(artifacts.open_input(path.sha256)), content_type="application/octet-stream")

    @routes.put(
        "/experiments/<experiment_id>/jobs/<job_id>/attempts/<number>/logs/<stream>",
        operation_id="agentPutLog",
        request_body=_CONTENT,
        responses={204: {"description": "It is kept"}, **documented(404, 413, 507)},
    )
    def write_log(path: LogPath, query: Start) -> Response:
        """Bring bytes of a captured stream, from a position on."""
        services.experiments.get(path.experiment_id)
        left_bytes = settings.max_log_bytes + _ABOUT_OMISSION_BYTES - query.start
        if left_bytes < 0:
            raise TooLargeError(f"position {query.start} is beyond the {settings.max_log_bytes} bytes kept of a log")
        data = Body(request, left_bytes).buffered().read()
        with _disk_errors("path"):
            artifacts.write_log(path.experiment_id, path.job_id, path.number, path.stream, query.start, data)
        return Response(status=204)

    @routes.put(
        "/experiments/<experiment_id>/jobs/<job_id>/attempts/<number>/outputs",
        operation_id="agentPutOutput",
        request_body=_CONTENT,
        responses={200: Kept, **documented(404, 413, 507)},
    )
    def put_output(path: AttemptPath, query: OutputName) -> Response:
        """Bring an output; bringing it again replaces it."""
        services.experiments.get(path.experiment_id)
        body = Body(request, settings.max_output_bytes).buffered()
        with _disk_errors("path"):
            try:
                kept = artifacts.receive_output(path.experiment_id, path.job_id, path.number, query.path, body)
            except NotFoundError as error:  # a name that leads out of the job's outputs
                raise DescriptionError((Fault("path", str(error)),)) from None
        return answer(Kept(**kept.model_dump()))

    @routes.get(
        "/experiments/<experiment_id>/jobs/<job_id>/attempts/<number>/outputs",
        operation_id="agentGetOutput",
        responses={200: _FILE, **documented(404)},
    )
    def fetch_output(path: AttemptPath, query: OutputName) -> Response:
        """Fetch an output, for the post command."""
        content = artifacts.open_output(path.experiment_id, path.job_id, path.number, query.path)
        return Response(in_chunks(content), content_type="application/octet-stream")

    return routes


@contextmanager
def _disk_errors(name: str) -> Iterator[None]:
    """A disk that fails is the manager's trouble: agents keep what they have and come again. Not where it is full."""
    try:
        yield
    except OSError as error:
        if error.errno in _MEANT_WRONG:
            raise DescriptionError((Fault(name, f"no file can have this name: {error.strerror}"),)) from None
        raise StoreUnavailableError(f"the manager cannot write to its disk: {error.strerror}") from error
