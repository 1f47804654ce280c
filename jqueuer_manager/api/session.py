"""The browser's login: a token that is right opens a session, whose id is in a cookie that no script can read."""

from __future__ import annotations

from http import HTTPStatus
from typing import Annotated, Any, Final

from flask import Response, request
from flask_openapi.blueprint import APIBlueprint
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from jqueuer.errors import DescriptionError
from jqueuer_manager.api.access import open_to_all
from jqueuer_manager.api.bodies import read_json
from jqueuer_manager.api.gate import COOKIE, Gate
from jqueuer_manager.api.parameters import PREFIX
from jqueuer_manager.api.problems import documented, faults_of

_MAX_BODY_BYTES: Final = 4096
_BODY_SECONDS: Final = 3.0
"""Until a login has come, which anybody may begin: not long, as others wait for their turn meanwhile."""


class Credentials(BaseModel):
    """What a user shows to log in."""

    model_config = ConfigDict(extra="forbid", hide_input_in_errors=True)

    token: Annotated[str, Field(pattern=r"^[\x21-\x7e]{1,512}$", description="The user's token")]


def _schema() -> dict[str, Any]:
    schema: dict[str, Any] = {"content": {"application/json": {"schema": Credentials.model_json_schema()}}}
    return schema


def blueprint(gate: Gate) -> APIBlueprint:
    """The routes over this gate."""
    routes = APIBlueprint(
        "session", __name__, url_prefix=PREFIX, abp_tags=[{"name": "session"}], abp_responses=documented(403, 422, 503)
    )

    @routes.post(
        "/session",
        operation_id="logIn",
        request_body=_schema(),
        responses={204: None, **documented(400, 401, 413, 415, 429)},
    )
    @open_to_all
    def log_in() -> Response:
        """Open a session for a browser that shows a token: its pages' requests carry a cookie from then on."""
        try:
            credentials = Credentials.model_validate_json(read_json(_MAX_BODY_BYTES, seconds=_BODY_SECONDS))
        except ValidationError as error:
            raise DescriptionError(faults_of(error)) from None
        session = gate.open_session(credentials.token)
        response = Response(status=HTTPStatus.NO_CONTENT)
        if session is not None:
            gate.end_session()
            _set_cookie(response, session)
        return response

    @routes.delete("/session", operation_id="logOut", responses={204: None})
    @open_to_all
    def log_out() -> Response:
        """End the browser's session."""
        gate.end_session()
        response = Response(status=HTTPStatus.NO_CONTENT)
        _set_cookie(response, "", expires_at=0)
        return response

    return routes


def _set_cookie(response: Response, session: str, *, expires_at: float | None = None) -> None:
    """Without an end it goes with the browser; the session ends when the store says so."""
    response.set_cookie(
        COOKIE, session, expires=expires_at, path="/", secure=request.is_secure, httponly=True, samesite="Strict"
    )
