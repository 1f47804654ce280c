"""The stores of tokens and of the sessions opened with them."""

from __future__ import annotations

from typing import Protocol

from jqueuer.access import SessionRecord, TokenRecord


class TokenStore(Protocol):
    """Tokens by their digests. Called by the manager for every request, and by administrators."""

    def add(self, record: TokenRecord) -> None:
        """Remember a token, until it expires."""

    def find(self, digest: str) -> TokenRecord | None:
        """The token of this digest; None where there is none, or none any more."""

    def all(self) -> list[TokenRecord]:
        """Every token that has not expired, the oldest first."""

    def remove(self, token_id: str) -> TokenRecord:
        """Withdraw a token at once; :class:`~jqueuer.errors.NotFoundError` where no token has this id."""


class SessionStore(Protocol):
    """Browsers' sessions by the digests of their ids. Called by the manager for every request with a cookie."""

    def open(self, digest: str, token_digest: str, *, seconds: float) -> None:
        """Remember a session for so long; a token has a bounded number, and those that were used longest ago go."""

    def find(self, digest: str) -> SessionRecord | None:
        """The session of this digest, and the token behind it; None where there is none, or none any more."""

    def renew(self, session: SessionRecord, *, seconds: float) -> None:
        """Let a session last so long from now on; one that has ended meanwhile stays ended."""

    def end(self, digest: str) -> None:
        """Forget a session at once; nothing happens where there is none."""
