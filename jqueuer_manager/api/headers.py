"""What every response carries, and which requests of a browser are refused."""

from __future__ import annotations

import ipaddress
from typing import Final
from urllib.parse import urlsplit

from flask import Response, request
from werkzeug.exceptions import Forbidden

SAFE_METHODS: Final = frozenset({"GET", "HEAD", "OPTIONS"})
"""Those that change nothing."""

_ALWAYS: Final = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",
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
    if request.method in SAFE_METHODS:
        return
    origin = request.headers.get("Origin")
    foreign = origin is not None and _place_of(origin) != request.host
    if foreign or request.headers.get("Sec-Fetch-Site", "none") not in {"none", "same-origin"}:
        raise Forbidden("pages of other sites may not send requests to the manager")


def refuse_other_names() -> None:
    """For a manager that only this machine reaches, and that asks for no token: a browser on it is asked, too.

    A page of another site can make the site's name one of this machine's; then nothing but the name tells.
    """
    host = _place_of(f"//{request.host}") or ""
    name = (urlsplit(f"//{host}").hostname or "").lower()
    if "." in name and not name.endswith(".localhost") and not _is_address(name):
        raise Forbidden(
            "without tokens (JQUEUER_AUTHENTICATION=none) a manager that listens on this machine alone is asked as "
            "localhost, also by a proxy: by any other name it could be the page of another site that asks"
        )


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def _place_of(origin: str) -> str | None:
    try:
        return urlsplit(origin).netloc or None
    except ValueError:  # a bracket without its other one
        return None
