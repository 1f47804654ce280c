"""Requests with every kind of wrong token, and what each is answered with.

Names between at-signs stand for tokens and what is made of them, ``@THEIRS@`` for the path of an experiment of the
administrator's.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

_LIST: Final = "/api/v1/experiments"
_AGENTS: Final = "/api/v1/agents/limits"
_TOKENS: Final = "/api/v1/tokens"
_UNKNOWN: Final = "jq_" + "A" * 43


@dataclass(frozen=True)
class Case:
    """A request, by what it shows."""

    name: str
    shown: tuple[bytes, ...]
    """Its headers."""
    status: int = 401
    said: str = "needs a token"
    method: str = "GET"
    path: str = _LIST


def _bearer(token: str | bytes, scheme: str = "Bearer") -> tuple[bytes, ...]:
    shown = token if isinstance(token, bytes) else token.encode()
    return (f"Authorization: {scheme} ".encode() + shown,)


_NOT_KNOWN: Final = "this token is not known here"

CASES: Final = [
    # shown wrongly
    Case("nothing", ()),
    Case("empty-header", (b"Authorization:",)),
    Case("scheme-alone", (b"Authorization: Bearer",)),
    Case("scheme-and-blanks", (b"Authorization: Bearer    ",)),
    Case("token-alone", (b"Authorization: @ADMIN@",)),
    Case("scheme-basic", (b"Authorization: Basic YWRtaW46YWRtaW4=",)),
    Case("scheme-basic-with-the-token", _bearer("@ADMIN@", "Basic")),
    Case("scheme-digest", (b'Authorization: Digest username="admin"',)),
    Case("scheme-token", _bearer("@ADMIN@", "Token")),
    Case("scheme-misspelt", _bearer("@ADMIN@", "Bearer:")),
    Case("scheme-twice", _bearer("@ADMIN@", "Bearer Bearer"), said=_NOT_KNOWN),
    Case("in-the-query", (), path=f"{_LIST}?access_token=@ADMIN@"),
    Case("in-another-header", (b"X-Api-Key: @ADMIN@",)),
    Case("in-a-cookie", (b"Cookie: token=@ADMIN@; Authorization=Bearer @ADMIN@",)),
    Case("as-the-proxy's", (b"Proxy-Authorization: Bearer @ADMIN@",)),
    Case("as-the-servers-variable", (b"HTTP_AUTHORIZATION: Bearer @ADMIN@",)),
    Case("header-with-underscore", (b"Authorization_: Bearer @ADMIN@",)),
    Case("in-the-address", (), path="http://admin:@ADMIN@@here/api/v1/experiments"),
    Case("two-headers", (*_bearer("@ADMIN@"), *_bearer(_UNKNOWN)), said=_NOT_KNOWN),
    Case("two-headers-the-right-one-last", (*_bearer(_UNKNOWN), *_bearer("@ADMIN@")), said=_NOT_KNOWN),
    Case("two-tokens", _bearer("@ADMIN@, @VIEWER@"), said=_NOT_KNOWN),
    # wrong
    Case("unknown", _bearer(_UNKNOWN), said=_NOT_KNOWN),
    Case("prefix-alone", _bearer("jq_"), said=_NOT_KNOWN),
    Case("a-word", _bearer("admin"), said=_NOT_KNOWN),
    Case("null", _bearer("null"), said=_NOT_KNOWN),
    Case("truncated", _bearer("@SHORTENED@"), said=_NOT_KNOWN),
    Case("lengthened", _bearer("@ADMIN@x"), said=_NOT_KNOWN),
    Case("in-capitals", _bearer("@CAPITALS@"), said=_NOT_KNOWN),
    Case("blank-within", _bearer("@SHORTENED@ x"), said=_NOT_KNOWN),
    Case("in-quotes", _bearer('"@ADMIN@"'), said=_NOT_KNOWN),
    Case("its-digest", _bearer("@DIGEST@"), said=_NOT_KNOWN),
    Case("its-id", _bearer("@ID@"), said=_NOT_KNOWN),
    Case("a-pattern", _bearer("*"), said=_NOT_KNOWN),
    Case("a-key-of-the-store", _bearer("jq:tokens"), said=_NOT_KNOWN),
    Case("beyond-ascii", _bearer("jq_schlüssel".encode()), said=_NOT_KNOWN),
    Case("no-utf-8", _bearer(b"jq_\xff\xfe"), said=_NOT_KNOWN),
    Case("of-eight-thousand-letters", _bearer("a" * 8000), said=_NOT_KNOWN),
    Case("of-a-megabyte", _bearer("a" * 1_000_000), 431, ""),
    Case("nul-within", _bearer(b"@ADMIN@\x00"), 400, ""),
    Case("next-line-within", _bearer(b"@ADMIN@\r\n x"), 400, ""),
    Case("expired", _bearer("@EXPIRED@"), said=_NOT_KNOWN),
    Case("withdrawn", _bearer("@WITHDRAWN@"), said=_NOT_KNOWN),
    # right, but not for this
    Case("agents-for-users", _bearer("@AGENT@"), said=_NOT_KNOWN),
    Case("administrators-for-agents", _bearer("@ADMIN@"), said="agents' token", path=_AGENTS),
    Case("submitters-for-agents", _bearer("@SUBMITTER@"), said="agents' token", path=_AGENTS),
    Case("nothing-for-agents", (), said="agents' token", path=_AGENTS),
    Case("viewer-submits", _bearer("@VIEWER@"), 403, "takes the role submitter", "POST"),
    Case("viewer-sends-a-file", _bearer("@VIEWER@"), 403, "submitter", "PUT", f"/api/v1/files/{'0' * 64}"),
    Case("viewer-cancels", _bearer("@VIEWER@"), 403, "takes the role submitter", "POST", "@THEIRS@/cancel"),
    Case("viewer-submits-as-in-2018", _bearer("@VIEWER@"), 403, "submitter", "POST", "/experiment/add"),
    Case("viewer-lists-tokens", _bearer("@VIEWER@"), 403, "takes the role admin", path=_TOKENS),
    Case("submitter-makes-a-token", _bearer("@SUBMITTER@"), 403, "takes the role admin", "POST", _TOKENS),
    Case("submitter-withdraws-a-token", _bearer("@SUBMITTER@"), 403, "admin", "DELETE", f"{_TOKENS}/@ID@"),
    Case("submitter-cancels-anothers", _bearer("@SUBMITTER@"), 403, "admin", "POST", "@THEIRS@/cancel"),
    Case("submitter-pauses-anothers", _bearer("@SUBMITTER@"), 403, "admin", "POST", "@THEIRS@/pause"),
    Case("submitter-retries-anothers", _bearer("@SUBMITTER@"), 403, "admin", "POST", "@THEIRS@/retry"),
    Case("submitter-deletes-anothers", _bearer("@SUBMITTER@"), 403, "admin", "DELETE", "@THEIRS@"),
    # how it may be shown as well
    Case("scheme-small", _bearer("@VIEWER@", "bearer"), 200, "experiments"),
    Case("scheme-in-capitals", _bearer("@VIEWER@", "BEARER"), 200, "experiments"),
    Case("blanks-around", _bearer("  @VIEWER@  "), 200, "experiments"),
    Case("health-needs-none", _bearer(_UNKNOWN), 200, "alive", path="/healthz"),
]
