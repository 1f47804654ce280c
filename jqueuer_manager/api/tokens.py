"""Tokens: who one is by it, and, for administrators, making and withdrawing them."""

from __future__ import annotations

from http import HTTPStatus
from typing import Annotated, Any, Final

import structlog
from flask import Response
from flask_openapi.blueprint import APIBlueprint
from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError

from jqueuer.access import Role, TokenRecord, User, UserName, digest_of, id_of, new_token
from jqueuer.errors import DescriptionError
from jqueuer.units import Duration
from jqueuer_manager.api.access import current_login, current_user, needs
from jqueuer_manager.api.answers import answer
from jqueuer_manager.api.bodies import read_json
from jqueuer_manager.api.parameters import PREFIX, TokenPath
from jqueuer_manager.api.problems import documented, faults_of
from jqueuer_manager.services import Services

_MAX_BODY_BYTES: Final = 64 * 1024
_log: Final = structlog.get_logger(__name__)


class NewToken(BaseModel):
    """What a token is to be."""

    model_config = ConfigDict(extra="forbid")

    name: Annotated[UserName, Field(description="The user it is for")]
    role: Role
    expires: Annotated[Duration, Field(gt=0)] | None = Field(
        default=None, description="After how long it is worth nothing any more, as in 90d; never where null"
    )
    note: Annotated[str, StringConstraints(max_length=200, pattern=r"^[^\x00-\x1f\x7f]*$")] = Field(
        default="", description="Anything, on one line, to know it again by"
    )


class TokenModel(BaseModel):
    """A token, but for what it is."""

    id: str
    name: str = Field(description="The user it is for")
    role: Role
    created_at: float
    expires_at: float | None
    note: str


class MadeToken(TokenModel):
    """A token that was just made."""

    token: str = Field(description="To be kept now: nobody can be shown it again")


class TokenList(BaseModel):
    """All tokens that have not expired, the oldest first."""

    tokens: list[TokenModel]


class Me(BaseModel):
    """Who one is here."""

    name: str
    role: Role
    token: TokenModel | None = Field(description="null for a token that is a setting, and where none is needed")


def blueprint(services: Services) -> APIBlueprint:
    """The routes over these services."""
    routes = APIBlueprint(
        "tokens", __name__, url_prefix=PREFIX, abp_tags=[{"name": "tokens"}], abp_responses=documented(422, 503)
    )
    tokens = services.tokens

    @routes.get("/me", operation_id="getMe", responses={200: Me})
    @needs(Role.VIEWER)
    def me() -> Response:
        """Say who sent the request, and what that user may do."""
        login = current_login()
        token = None if login.token is None else TokenModel(**_shown(login.token))
        return answer(Me(name=login.user.name, role=login.user.role, token=token))

    @routes.get("/tokens", operation_id="listTokens", responses={200: TokenList})
    @needs(Role.ADMIN)
    def listing() -> Response:
        """List the tokens, oldest first; those that are settings are not among them."""
        return answer(TokenList(tokens=[TokenModel(**_shown(record)) for record in tokens.all()]))

    @routes.post(
        "/tokens",
        operation_id="makeToken",
        request_body={"content": {"application/json": {"schema": _new_token_schema()}}},
        responses={201: MadeToken, **documented(400, 413, 415)},
    )
    @needs(Role.ADMIN)
    def make() -> Response:
        """Make a token; the answer is the only one that shows it."""
        try:
            wish = NewToken.model_validate_json(read_json(_MAX_BODY_BYTES))
        except ValidationError as error:
            raise DescriptionError(faults_of(error)) from None
        token, now = new_token(), services.experiments.now()
        digest = digest_of(token)
        record = TokenRecord(
            id=id_of(digest),
            digest=digest,
            user=User(name=wish.name, role=wish.role),
            created_at=now,
            expires_at=None if wish.expires is None else now + wish.expires,
            note=wish.note,
        )
        tokens.add(record)
        _log.info("token made", token_id=record.id, user=wish.name, role=wish.role.value, by=current_user().name)
        return answer(MadeToken(token=token, **_shown(record)), HTTPStatus.CREATED)

    @routes.delete("/tokens/<token_id>", operation_id="removeToken", responses={204: None, **documented(404)})
    @needs(Role.ADMIN)
    def remove(path: TokenPath) -> Response:
        """Withdraw a token: from now on it is worth nothing."""
        record = tokens.remove(path.token_id)
        _log.info("token removed", token_id=record.id, user=record.user.name, by=current_user().name)
        return Response(status=HTTPStatus.NO_CONTENT)

    return routes


def _new_token_schema() -> dict[str, Any]:
    """The JSON Schema of what is sent, in one piece."""
    schema = NewToken.model_json_schema()
    schema["properties"]["role"] = schema.pop("$defs")["Role"]
    return schema


def _shown(record: TokenRecord) -> dict[str, object]:
    return {
        "id": record.id,
        "name": record.user.name,
        "role": record.user.role,
        "created_at": record.created_at,
        "expires_at": record.expires_at,
        "note": record.note,
    }
