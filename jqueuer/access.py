"""Who may do what: tokens, the roles they carry, the sessions opened with them, and the owners of experiments.

A token is 256 random bits, and so is the id of a session: its SHA-256 says nothing about it; that is what the store
keeps.
"""

from __future__ import annotations

import hashlib
import secrets
from enum import StrEnum
from typing import Annotated, Final

from pydantic import StringConstraints

from jqueuer.model import Frozen

TOKEN_PREFIX: Final = "jq_"  # noqa: S105 - by which scanners for leaked secrets know one
ADMINISTRATOR: Final = "admin"
"""The user of the first administrator's token, which is a setting."""
ANYBODY: Final = "anybody"
"""The user of every request where authentication is off."""
_TOKEN_BYTES: Final = 32

UserName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._@-]{0,63}$")]
"""Letters, digits and ``. _ @ -``, at most 64 of them."""


class Role(StrEnum):
    """What a user may do; each role may do what those before it may."""

    VIEWER = "viewer"
    """Look at everything but what only an administrator sees."""
    SUBMITTER = "submitter"
    """Submit experiments, and change those of one's own."""
    ADMIN = "admin"
    """Change everybody's experiments, and make and withdraw tokens."""

    def includes(self, other: Role) -> bool:
        """Whether who has this role may do what the other may."""
        order = tuple(Role)
        return order.index(self) >= order.index(other)


class User(Frozen):
    """Who sent a request."""

    name: UserName
    role: Role

    def may_change(self, owner: str) -> bool:
        """Whether this user may change the experiments of that owner; those of nobody are the administrators'."""
        return self.role is Role.ADMIN or (self.role is Role.SUBMITTER and self.name == owner)


class TokenRecord(Frozen):
    """A token as the store knows it: by its digest."""

    id: str
    """The first letters of the digest; how a token is named without being told."""
    digest: str
    user: User
    created_at: float
    """Seconds since the epoch, as is the next."""
    expires_at: float | None = None
    note: str = ""
    """What its maker wrote beside it."""


class SessionRecord(Frozen):
    """What a browser was let in by, as the store knows it: by the digest of its id."""

    digest: str
    token_digest: str
    """The token it was opened with."""
    token: TokenRecord | None
    """That token; None where it is none of the store's (any more)."""
    seconds_left: float
    """Until it ends, unless it is renewed."""


def new_token() -> str:
    """A fresh token; it is shown once, to whoever asked for it."""
    return f"{TOKEN_PREFIX}{secrets.token_urlsafe(_TOKEN_BYTES)}"


def new_session_id() -> str:
    """A fresh id of a session; the browser's cookie carries it."""
    return secrets.token_urlsafe(_TOKEN_BYTES)


def digest_of(token: str) -> str:
    """What is kept of a token, or of the id of a session, in hexadecimal."""
    return hashlib.sha256(token.encode()).hexdigest()


def id_of(digest: str) -> str:
    """How the token of this digest is named."""
    return digest[:12]
