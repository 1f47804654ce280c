"""By what a client is known to its manager: a token, and the certificates by which it knows the manager.

A token is never an argument of a program, where every user of the machine could read it. It comes from
``JQUEUER_TOKEN``, else from the file that ``JQUEUER_TOKEN_FILE`` names, else from the state directory of the embedded
system that answers at this very URL.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from jqueuer.errors import SettingsError

TOKEN_FILE: Final = "token"  # noqa: S105 - a name in the state directory of an embedded system
ANNOUNCEMENT: Final = "manager.json"
"""Where a manager writes down, in its state directory, at which URL it answers."""

_LOOPBACK: Final = frozenset({"127.0.0.1", "localhost", "::1"})
_DEFAULT_STATE: Final = ".jqueuer"


@dataclass(frozen=True)
class Credentials:
    """A token, if there is one, and where it came from, for messages."""

    token: str = ""
    source: str = ""

    def __repr__(self) -> str:
        return f"Credentials(source={self.source!r})"


def find_credentials(url: str) -> Credentials:
    """The token for the manager at this URL; :class:`SettingsError` where one is named that cannot be had."""
    if token := os.environ.get("JQUEUER_TOKEN"):
        return Credentials(checked(token, "JQUEUER_TOKEN"), "in JQUEUER_TOKEN")
    if name := os.environ.get("JQUEUER_TOKEN_FILE"):
        return Credentials(_read(Path(name), f"JQUEUER_TOKEN_FILE={name}"), f"in {name} (JQUEUER_TOKEN_FILE)")
    state = Path(os.environ.get("JQUEUER_STATE_DIR") or _DEFAULT_STATE)
    file = state / TOKEN_FILE
    if _answers_at(state, url) and file.is_file():
        return Credentials(_read(file, str(file)), f"in {file}")
    return Credentials()


def checked(token: str, origin: str) -> str:
    """The token without the white space around it; :class:`SettingsError` where it can be none."""
    token = token.strip()
    if not token or not token.isascii() or not token.isprintable() or " " in token:
        raise SettingsError(f"{origin}: expected a token, which is one word of ASCII characters")
    return token


def find_authorities() -> str | bool:
    """The file of certificates by which the manager is known (``JQUEUER_CA_FILE``); else those of the system."""
    name = os.environ.get("JQUEUER_CA_FILE")
    if not name:
        return True
    if not Path(name).is_file():
        raise SettingsError(f"JQUEUER_CA_FILE={name}: there is no such file")
    return name


def _read(file: Path, origin: str) -> str:
    try:
        return checked(file.read_text(encoding="utf-8"), origin)
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"{origin}: cannot be read: {getattr(error, 'strerror', None) or error}") from None


def _answers_at(state: Path, url: str) -> bool:
    """Whether the system of this directory is up, as ours, and its manager is who answers at the URL.

    Its token is no business of whoever has taken its port since.
    """
    try:
        announced = json.loads((state / ANNOUNCEMENT).read_text(encoding="utf-8"))
        os.kill(int(announced["pid"]), 0)
        return _origin(str(announced["url"])) == _origin(url)
    except (OSError, ValueError, KeyError, TypeError):
        return False


def _origin(url: str) -> tuple[str, str, int | None]:
    parts = urlsplit(url)
    host = parts.hostname or ""
    return parts.scheme, "localhost" if host in _LOOPBACK else host, parts.port
