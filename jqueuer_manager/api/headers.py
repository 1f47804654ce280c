"""What every response carries, and which requests of a browser are refused."""

from __future__ import annotations

from typing import Final
from urllib.parse import urlsplit

from flask import Response, request
from werkzeug.exceptions import Forbidden

_ALWAYS: Final = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
}
_DEFAULT: Final = {
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
    "Cache-Control": "no-store",
}


def secure(response: Response) -> Response:
    """Add the headers; a page of the manager's own may have set a policy of its own."""
    response.headers.update(_ALWAYS)
    for name, value in _DEFAULT.items():
        response.headers.setdefault(name, value)
    return response


def refuse_cross_site() -> None:
    """A page of another site may not send commands: browsers say where a request comes from, programs need not."""
    if request.method in {"GET", "HEAD", "OPTIONS"}:
        return
    origin = request.headers.get("Origin")
    foreign = origin is not None and _place_of(origin) != request.host
    if foreign or request.headers.get("Sec-Fetch-Site", "none") not in {"none", "same-origin"}:
        raise Forbidden("pages of other sites may not send requests to the manager")


def _place_of(origin: str) -> str | None:
    try:
        return urlsplit(origin).netloc or None
    except ValueError:  # a bracket without its other one
        return None
