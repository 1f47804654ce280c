"""Who sends a request: the user of the token that it shows, as a header, or in the cookie of a browser's login."""

from __future__ import annotations

import hmac
import math
from typing import Final, NoReturn

import structlog
from flask import request
from pydantic import SecretStr
from werkzeug.exceptions import TooManyRequests

from jqueuer.access import ADMINISTRATOR, ANYBODY, Role, TokenRecord, User, digest_of
from jqueuer.errors import ForbiddenError, UnauthenticatedError
from jqueuer.model import Frozen
from jqueuer.ports import TokenStore
from jqueuer.settings import Settings
from jqueuer_manager.api.headers import SAFE_METHODS
from jqueuer_manager.api.refusals import RefusedLogins

COOKIE: Final = "jqueuer_token"
"""Where a browser that has logged in keeps its token."""

_METRICS: Final = User(name="metrics", role=Role.VIEWER)
_log: Final = structlog.get_logger(__name__)


class Login(Frozen):
    """Who sent a request, and the token by which that is known where it is one of the store's."""

    user: User
    token: TokenRecord | None = None


_ANYBODY: Final = Login(user=User(name=ANYBODY, role=Role.ADMIN))


class Gate:
    """Tells users and agents by the token of the current request; safe among threads.

    A secret is found by its digest, so how long that takes says nothing about it.
    """

    def __init__(self, settings: Settings, tokens: TokenStore, refused: RefusedLogins) -> None:
        self.open = settings.authentication == "none"
        """Whether everybody is an administrator, without any token."""
        self._administrators = _digest_of(settings.admin_token)
        self._metrics = _digest_of(settings.metrics_token)
        self._agents = _digest_of(settings.agent_token)
        self._tokens = tokens
        self._refused = refused

    def login(self, *, with_metrics_token: bool) -> Login:
        """The user; :class:`UnauthenticatedError` where the request shows no token, or one that is not known."""
        if self.open:
            return _ANYBODY
        digest = self._in_cookie() or self._shown("this needs a token: send it as 'Authorization: Bearer TOKEN'")
        if with_metrics_token and _same(digest, self._metrics):
            return Login(user=_METRICS)
        return self._login(digest)

    def login_with(self, token: str) -> Login:
        """The user of this token, which the request shows in a way of its own; refused as by :meth:`login`."""
        return _ANYBODY if self.open else self._login(digest_of(token))

    def still_in(self, login: Login) -> bool:
        """Whether the token of an earlier :meth:`login` has neither expired nor been removed since."""
        return login.token is None or self._tokens.find(login.token.digest) is not None

    def _login(self, digest: str) -> Login:
        if _same(digest, self._administrators):
            return Login(user=User(name=ADMINISTRATOR, role=Role.ADMIN))
        record = self._tokens.find(digest)
        if record is None:
            self._refuse("this token is not known here: it may have expired, or been removed")
        return Login(user=record.user, token=record)

    def require_agent(self) -> None:
        """Return where the request shows the agents' token."""
        if not self._agents:
            raise ForbiddenError("agents are not let in here: JQUEUER_AGENT_TOKEN is not set for the manager")
        if not _same(self._shown("this needs the agents' token"), self._agents):
            if not self._refused.add(request.remote_addr or ""):  # who comes again and again is not said each time
                _log.warning("a wrong agents' token was shown", address=request.remote_addr, operation=request.endpoint)
            raise UnauthenticatedError("this needs the agents' token")

    def _shown(self, otherwise: str) -> str:
        """The digest of the token that the request shows."""
        scheme, _, token = request.headers.get("Authorization", "").partition(" ")
        if scheme.lower() != "bearer" or not token.strip():
            raise UnauthenticatedError(otherwise)
        return digest_of(token.strip())

    def _in_cookie(self) -> str:
        """The digest of the token in the cookie; empty without one, and where it is not our own page that sends it.

        Where browsers say from where a request comes, only what they say of it counts; they always do of a command.
        """
        token = request.cookies.get(COOKIE, "")
        if not token or "Authorization" in request.headers:
            return ""
        site = request.headers.get("Sec-Fetch-Site")
        told = site is not None or "Origin" in request.headers or request.method in SAFE_METHODS
        return digest_of(token) if told and site in {None, "none", "same-origin"} else ""

    def _refuse(self, reason: str) -> NoReturn:
        address = request.remote_addr or ""
        wait_seconds = self._refused.add(address)
        if not wait_seconds:
            _log.warning("a wrong token was shown", address=address, operation=request.endpoint)
            raise UnauthenticatedError(reason)
        raise TooManyRequests(
            "too many wrong tokens came from this address: wait, then send a token that is right",
            retry_after=math.ceil(wait_seconds),
        )


def _digest_of(secret: SecretStr) -> str:
    """The digest of a secret that is set; else empty, which is no digest."""
    value = secret.get_secret_value().strip()
    return digest_of(value) if value else ""


def _same(digest: str, known: str) -> bool:
    return hmac.compare_digest(digest, known)
