"""The store of tokens."""

from __future__ import annotations

from typing import Protocol

from jqueuer.access import TokenRecord


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
