"""What whoever starts a manager should know about who can use it."""

from __future__ import annotations

import ipaddress
from typing import Final

import structlog

from jqueuer.ports import TokenStore
from jqueuer.settings import Settings

_LEAST_CHARACTERS: Final = 20
_log: Final = structlog.get_logger(__name__)


def warn_of_openness(settings: Settings, tokens: TokenStore) -> None:
    """Log where everybody is let in, or nobody, or who guesses well."""
    for name in ("admin_token", "agent_token", "metrics_token"):
        if 0 < len(getattr(settings, name).get_secret_value().strip()) < _LEAST_CHARACTERS:
            _log.warning(
                f"JQUEUER_{name.upper()} can be guessed: it has less than {_LEAST_CHARACTERS} characters; "
                "make a long random one (tools/make-secrets does)"
            )
    if settings.authentication == "none":
        if not is_loopback(settings.host):
            _log.warning(
                "whoever reaches the port may do everything: JQUEUER_AUTHENTICATION is none",
                listening=f"{settings.host}:{settings.port}",
            )
    elif not settings.admin_token.get_secret_value() and not tokens.all():
        _log.warning(
            "nobody can use the API: there is no token yet; set JQUEUER_ADMIN_TOKEN to a long random secret "
            "(tools/make-secrets makes one), start the manager again, then make others with `jqueuer token add`"
        )


def is_loopback(host: str) -> bool:
    """Whether what listens on this address can be reached from this machine alone."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
