"""Who may do what: each operation declares the role it takes, and one that declares nothing is refused to everybody."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from flask import Flask, g, request
from flask_openapi.models.operation import Operation
from flask_openapi.models.response import Response as ResponseModel
from flask_openapi.openapi import OpenAPI

from jqueuer.access import Role, User
from jqueuer.errors import ForbiddenError
from jqueuer.records import ExperimentRecord
from jqueuer_manager.api.gate import Gate, Login
from jqueuer_manager.api.problems import documented

SECURITY: Final = "token"
"""How the OpenAPI document calls the users' tokens."""

_DECLARED: Final = "jqueuer_access"
_METHODS: Final = ("get", "post", "put", "patch", "delete")

Handler = TypeVar("Handler", bound=Callable[..., Any])


@dataclass(frozen=True)
class _Access:
    """What an operation takes; no role is open to everybody."""

    role: Role | None
    with_metrics_token: bool = False


def needs(role: Role, *, with_metrics_token: bool = False) -> Callable[[Handler], Handler]:
    """Declare, below the route's own decorator, the role that an operation takes."""
    return _declaring(_Access(role, with_metrics_token))


def open_to_all(handler: Handler) -> Handler:
    """Declare that an operation takes no token."""
    return _declaring(_Access(None))(handler)


def _declaring(access: _Access) -> Callable[[Handler], Handler]:
    def declare(handler: Handler) -> Handler:
        setattr(handler, _DECLARED, access)
        return handler

    return declare


def install(app: Flask, gate: Gate, *, elsewhere: frozenset[str]) -> None:
    """Refuse whom an operation is not for, before anything of the request is looked at.

    The blueprints that are ``elsewhere`` see to it themselves.
    """

    @app.before_request
    def let_in() -> None:
        if request.endpoint is None or request.blueprint in elsewhere:
            return  # there is no such path, or no such method
        access = _access_of(app, request.endpoint)
        if access is not None and access.role is None:
            return
        login = gate.login(with_metrics_token=access is not None and access.with_metrics_token)
        if access is None or access.role is None:
            raise ForbiddenError("this operation declares nobody who may use it")
        if not login.user.role.includes(access.role):
            raise ForbiddenError(
                f"this takes the role {access.role}, and the token of {login.user.name} has the role "
                f"{login.user.role}: ask an administrator for another token"
            )
        g.login = login


def current_login() -> Login:
    """Who sent the current request."""
    login: Login = g.login
    return login


def current_user() -> User:
    """The user who sent the current request."""
    return current_login().user


def refuse_others(record: ExperimentRecord, action: str) -> None:
    """Nobody but its owner and administrators changes an experiment."""
    user = current_user()
    if not user.may_change(record.owner):
        who = f"{record.owner} or an administrator" if record.owner else "an administrator"
        raise ForbiddenError(
            f"the experiment {record.id} belongs to {record.owner or 'nobody'}: only {who} may {action} it, "
            f"and this token is {user.name}'s"
        )


def by_whom(record: ExperimentRecord) -> str:
    """How the current user is called in the experiment's journal: owners are just the user."""
    user = current_user()
    return "the user" if user.name == record.owner else user.name


def describe(app: OpenAPI) -> None:
    """Write into the OpenAPI document the role that each operation takes, and how it refuses."""
    refusals = {
        str(status): ResponseModel.model_validate(response)
        for status, response in documented(401, 403, 429).items()
        if status != "default"
    }
    for rule in app.url_map.iter_rules():
        access = _access_of(app, rule.endpoint)
        item = app.paths.get(re.sub(r"<(?:[^:<>]+:)?(\w+)>", r"{\1}", rule.rule))
        if item is None or access is None:
            continue
        for method in _METHODS:
            operation: Operation | None = getattr(item, method) if method.upper() in (rule.methods or ()) else None
            if operation is None:
                continue
            operation.security = [] if access.role is None else [{SECURITY: [access.role.value]}]
            if access.role is not None:
                operation.responses = {**(operation.responses or {}), **refusals}


def _access_of(app: Flask, endpoint: str) -> _Access | None:
    return getattr(app.view_functions.get(endpoint), _DECLARED, None)
