"""Every error as ``application/problem+json`` (RFC 9457), whoever raised it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from http import HTTPStatus
from typing import Any, Final, TypeAlias

import structlog
from flask import Flask, Response, request
from pydantic import BaseModel, Field, ValidationError
from werkzeug.exceptions import HTTPException

from jqueuer.errors import (
    ConflictError,
    DescriptionError,
    EngineUnavailableError,
    Fault,
    ForbiddenError,
    JQueuerError,
    NotFoundError,
    StorageFullError,
    StoreUnavailableError,
    TooLargeError,
    TooManyExperimentsError,
    UnauthenticatedError,
    UnsupportedError,
)
from jqueuer.quoting import InfeasibleError, Quote
from jqueuer_manager.api.schemas import QuoteModel

MEDIA_TYPE: Final = "application/problem+json"
RETRY_AFTER_SECONDS: Final = 2
MAX_FAULTS: Final = 200
"""More are counted in ``detail``, not listed."""

_PAGE: Final = {"text/html": {"schema": {"type": "string"}}}

Responses: TypeAlias = dict[int | str | HTTPStatus, Any]
"""OpenAPI responses by status."""

_log: Final = structlog.get_logger(__name__)
_STATUS: Final[Mapping[type[JQueuerError], tuple[HTTPStatus, str]]] = {
    DescriptionError: (HTTPStatus.UNPROCESSABLE_ENTITY, "description"),
    UnsupportedError: (HTTPStatus.UNPROCESSABLE_ENTITY, "unsupported"),
    InfeasibleError: (HTTPStatus.UNPROCESSABLE_ENTITY, "infeasible"),
    UnauthenticatedError: (HTTPStatus.UNAUTHORIZED, "unauthenticated"),
    ForbiddenError: (HTTPStatus.FORBIDDEN, "forbidden"),
    TooLargeError: (HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "too-large"),
    NotFoundError: (HTTPStatus.NOT_FOUND, "not-found"),
    TooManyExperimentsError: (HTTPStatus.CONFLICT, "too-many-experiments"),
    ConflictError: (HTTPStatus.CONFLICT, "conflict"),
    StorageFullError: (HTTPStatus.INSUFFICIENT_STORAGE, "storage-full"),
    StoreUnavailableError: (HTTPStatus.SERVICE_UNAVAILABLE, "store-unavailable"),
    EngineUnavailableError: (HTTPStatus.SERVICE_UNAVAILABLE, "engine-unavailable"),
}


class FaultModel(BaseModel):
    """One thing wrong with what was sent."""

    path: str = Field(description="Where, as a path into the description, or the name of a parameter")
    line: int | None = Field(description="The line, where it is known")
    message: str = Field(description="What was wrong and what was expected")


class Problem(BaseModel):
    """An error (RFC 9457)."""

    type: str = Field(description="A URN naming the kind of problem: urn:jqueuer:problem:…")
    title: str
    status: int
    detail: str = Field(description="What was wrong, and what would be right")
    faults: list[FaultModel] = Field(default=[], description="Every fault of a description or of parameters")
    quote: QuoteModel | None = Field(default=None, description="Of what is infeasible, with the counter-offer")


def problem(
    status: int,
    kind: str,
    detail: str,
    *,
    faults: Iterable[Fault] = (),
    quote: Quote | None = None,
    headers: Mapping[str, str] | None = None,
) -> Response:
    """The response for one problem."""
    listed = list(faults)
    body = Problem(
        type=f"urn:jqueuer:problem:{kind}",
        title=HTTPStatus(status).phrase,
        status=status,
        detail=detail,
        faults=[FaultModel(**fault.as_dict()) for fault in listed[:MAX_FAULTS]],
        quote=None if quote is None else QuoteModel.of(quote),
    )
    content = body.model_dump_json(exclude={"quote"} if quote is None else None)
    response = Response(content, status, content_type=MEDIA_TYPE)
    response.headers.update(headers or {})
    return response


def documented(*statuses: int) -> Responses:
    """The OpenAPI entries of an operation that can answer with these problems."""
    content = {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}}
    known: Responses = {status: {"description": HTTPStatus(status).phrase, "content": content} for status in statuses}
    other = "Any other error; a page where the HTTP server refuses what it cannot even read"
    return {**known, "default": {"description": other, "content": {**content, **_PAGE}}}


def invalid_parameters(error: ValidationError) -> Response:
    """Parameters that pydantic refused."""
    faults = faults_of(error)
    detail = "; ".join(str(fault) for fault in faults)
    return problem(HTTPStatus.UNPROCESSABLE_ENTITY, "parameters", detail, faults=faults)


def faults_of(error: ValidationError) -> tuple[Fault, ...]:
    """Pydantic's errors as the project's faults."""
    return tuple(
        Fault(".".join(str(part) for part in entry["loc"]), entry["msg"].removeprefix("Value error, "))
        for entry in error.errors(include_url=False, include_context=False)
    )


def install(app: Flask) -> None:
    """Answer every error of the application with a problem."""
    app.register_error_handler(HTTPException, _http)
    app.register_error_handler(JQueuerError, _ours)
    app.register_error_handler(Exception, _unforeseen)


def _ours(error: JQueuerError) -> Response:
    status, kind = next(
        (found for cls, found in _STATUS.items() if isinstance(error, cls)), (HTTPStatus.BAD_REQUEST, "request")
    )
    if isinstance(error, DescriptionError):
        count = len(error.faults)
        first = error.faults[0] if count else "the description has faults"
        detail = str(first) if count <= 1 else f"{count} faults; the first: {first}"
        return problem(status, kind, detail, faults=error.faults)
    if isinstance(error, InfeasibleError):
        return problem(status, kind, str(error), quote=error.quote)
    return problem(status, kind, str(error), headers=_headers(status))


def _headers(status: HTTPStatus) -> dict[str, str]:
    if status is HTTPStatus.SERVICE_UNAVAILABLE:
        return {"Retry-After": str(RETRY_AFTER_SECONDS)}
    if status is HTTPStatus.UNAUTHORIZED:
        shown = ', error="invalid_token"' if "Authorization" in request.headers else ""
        return {"WWW-Authenticate": f'Bearer realm="jqueuer"{shown}'}
    return {}


def _http(error: HTTPException) -> Response:
    if isinstance(error.response, Response):
        return error.response
    code = error.code or HTTPStatus.INTERNAL_SERVER_ERROR
    headers = {name: value for name, value in error.get_headers() if name.lower() not in {"content-type"}}
    kind = HTTPStatus(code).phrase.lower().replace(" ", "-")
    return problem(code, kind, error.description or HTTPStatus(code).phrase, headers=headers)


def _unforeseen(error: Exception) -> Response:
    _log.error("request failed", method=request.method, path=request.path, exc_info=error)
    return problem(
        HTTPStatus.INTERNAL_SERVER_ERROR,
        "internal",
        "the manager met an error of its own; its log has the details",
    )
