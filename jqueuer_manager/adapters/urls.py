"""Which URLs the manager sends requests to on behalf of others."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from typing import Final
from urllib.parse import unquote, urlsplit

import requests

from jqueuer.model import Experiment
from jqueuer.notify import holds_credentials
from jqueuer.settings import Settings

_DEFAULT_PORTS: Final = {"http": 80, "https": 443}
_SLASHES: Final = re.compile(r"[/\\]")
_ANY: Final = "*"
_MOST_QUOTINGS: Final = 9
"""What is quoted more often, nobody means well with."""


def url_allowed(url: str, patterns: Sequence[str]) -> bool:
    """Whether one of the shell patterns matches the URL as it would be requested.

    So no spelling gets around a pattern: scheme and host are compared in lower case, a port that goes without saying is
    left out, and what leads out of a directory is matched by ``*`` alone.
    """
    try:
        prepared = requests.Request("POST", url).prepare()
        parts = urlsplit(prepared.url or "")
        port = parts.port
    except (requests.RequestException, ValueError):
        return False
    if parts.scheme not in _DEFAULT_PORTS or parts.hostname is None or holds_credentials(url):
        return False
    if _ANY in patterns:
        return True
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    where = host if port in (None, _DEFAULT_PORTS[parts.scheme]) else f"{host}:{port}"
    return not _leads_out(parts.path) and any(
        fnmatchcase(f"{parts.scheme}://{where}{prepared.path_url}", pattern) for pattern in patterns
    )


def _leads_out(path: str) -> bool:
    """Whether some server may take it for a way up: many unquote it, some twice, and some drop what follows a ``;``."""
    for _ in range(_MOST_QUOTINGS):
        quoted, path = path, unquote(path)
        if path == quoted:
            return any(segment.partition(";")[0] == ".." for segment in _SLASHES.split(path))
    return True


def refused_urls(description: Experiment, settings: Settings) -> list[str]:
    """Why the manager would not send requests where this description wants it to."""
    found = []
    for key, url in _named(description):
        if holds_credentials(url):
            found.append(f"{key}: a URL with a user or a password in it is not taken: every viewer would see it")
        elif not url_allowed(url, settings.allowed_urls):
            allowed = ", ".join(settings.allowed_urls) or "none"
            found.append(f"{key}: {url} is not allowed here: allowed are {allowed} (JQUEUER_ALLOWED_URLS)")
    if description.notify is not None and not settings.webhook_secret.get_secret_value():
        found.append(
            "notify: this manager notifies nobody, because it has nothing to sign with; "
            "who runs it can set JQUEUER_WEBHOOK_SECRET"
        )
    return found


def _named(description: Experiment) -> Iterator[tuple[str, str]]:
    if description.policy.url is not None:
        yield "policy.url", description.policy.url
    if description.notify is not None:
        yield "notify.url", description.notify.url
