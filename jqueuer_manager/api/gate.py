"""Who sends a request: the user of the token that it shows, or of the one that opened its browser's session."""

from __future__ import annotations

import hmac
import math
from contextlib import suppress
from typing import Final, NoReturn

import structlog
from flask import request
from pydantic import SecretStr
from werkzeug.exceptions import TooManyRequests

from jqueuer.access import (
    ADMINISTRATOR,
    ANYBODY,
    Role,
    SessionRecord,
    TokenRecord,
    User,
    digest_of,
    new_session_id,
)
from jqueuer.errors import ForbiddenError, StoreUnavailableError, UnauthenticatedError
from jqueuer.model import Frozen
from jqueuer.ports import SessionStore, TokenStore
from jqueuer.settings import Settings
from jqueuer_manager.api.headers import SAFE_METHODS
from jqueuer_manager.api.refusals import RefusedLogins

COOKIE: Final = "jqueuer_session"
"""Where a browser that has logged in keeps the id of its session."""

_FRESH: Final = 0.9
"""A session of which so much is left is not renewed: each request would write."""
_METRICS: Final = User(name="metrics", role=Role.VIEWER)
_log: Final = structlog.get_logger(__name__)


class Login(Frozen):
    """Who sent a request, and by what that is known."""

    user: User
    token: TokenRecord | None = None
    """The token, where it is one of the store's."""
    session: str | None = None
    """The digest of the session's id, where it is a browser's."""


_ANYBODY: Final = Login(user=User(name=ANYBODY, role=Role.ADMIN))


class Gate:
    """Tells users and agents by the token of the current request; safe among threads.

    A secret is found by its digest, so how long that takes says nothing about it.
    """

    def __init__(self, settings: Settings, tokens: TokenStore, sessions: SessionStore, refused: RefusedLogins) -> None:
        self.open = settings.authentication == "none"
        """Whether everybody is an administrator, without any token."""
        self._administrators = _digest_of(settings.admin_token)
        self._metrics = _digest_of(settings.metrics_token)
        self._agents = _digest_of(settings.agent_token)
        self._session_seconds = settings.session_seconds
        self._tokens = tokens
        self._sessions = sessions
        self._refused = refused

    def login(self, *, with_metrics_token: bool) -> Login:
        """The user; :class:`UnauthenticatedError` where the request shows nothing, or nothing that is known."""
        if self.open:
            return _ANYBODY
        if session := self._in_cookie():
            return self._login_of(session) or _ended()
        digest = self._shown("this needs a token: send it as 'Authorization: Bearer TOKEN'")
        if with_metrics_token and _same(digest, self._metrics):
            return Login(user=_METRICS)
        return self._login(digest)

    def open_session(self, token: str) -> str | None:
        """The id of a new session of this token's user; None where nobody needs one. Refused as by :meth:`login`."""
        if self.open:
            return None
        digest, session = digest_of(token), new_session_id()
        self._login(digest)
        self._sessions.open(digest_of(session), digest, seconds=self._session_seconds)
        return session

    def end_session(self) -> None:
        """End the session of this request's browser, if it has one."""
        if session := request.cookies.get(COOKIE):
            self._sessions.end(digest_of(session))

    def still_in(self, login: Login) -> bool:
        """Whether what let somebody in at an earlier :meth:`login` has neither ended nor been removed since."""
        if login.session is not None:
            return self._login_of(login.session) is not None
        return login.token is None or self._tokens.find(login.token.digest) is not None

    def _login_of(self, digest: str) -> Login | None:
        """Who opened this session; None where it has ended, or its token is worth nothing any more."""
        session = self._sessions.find(digest)
        if session is None:
            return None
        if session.token is not None:
            login = Login(user=session.token.user, token=session.token, session=digest)
        elif _same(session.token_digest, self._administrators):
            login = Login(user=User(name=ADMINISTRATOR, role=Role.ADMIN), session=digest)
        else:
            return None
        self._keep(session)
        return login

    def _keep(self, session: SessionRecord) -> None:
        """Renew a session that is used, now and then; a store that can only be read is no reason to refuse."""
        if not _FRESH * self._session_seconds <= session.seconds_left <= self._session_seconds:
            with suppress(StoreUnavailableError):
                self._sessions.renew(session, seconds=self._session_seconds)

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
        """The digest of the session in the cookie; empty without one, and where it is not our own page that sends it.

        Where browsers say from where a request comes, only what they say of it counts; they always do of a command.
        """
        session = request.cookies.get(COOKIE, "")
        if not session or "Authorization" in request.headers:
            return ""
        site = request.headers.get("Sec-Fetch-Site")
        told = site is not None or "Origin" in request.headers or request.method in SAFE_METHODS
        return digest_of(session) if told and site in {None, "none", "same-origin"} else ""

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


def _ended() -> NoReturn:
    """Not counted as a wrong token: nobody guesses ids of sessions, and pages that were left open show old ones."""
    raise UnauthenticatedError("this session has ended: log in again")


def _digest_of(secret: SecretStr) -> str:
    """The digest of a secret that is set; else empty, which is no digest."""
    value = secret.get_secret_value().strip()
    return digest_of(value) if value else ""


def _same(digest: str, known: str) -> bool:
    return hmac.compare_digest(digest, known)
