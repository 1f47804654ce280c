"""Secrets in files that nobody but their owner can read."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable
from pathlib import Path
from typing import Final

_OWNER_ONLY: Final = 0o600


def kept_secret(file: Path, *, given: str = "", make: Callable[[], str]) -> str:
    """The secret in the file; one that is ``given`` replaces it, and where there is none one is made."""
    known = file.read_text(encoding="utf-8").strip() if file.exists() else ""
    secret = given or known or make()
    if secret != known or file.stat().st_mode & 0o777 != _OWNER_ONLY:
        part = file.with_name(f".{file.name}-{secrets.token_hex(4)}")
        with open(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, _OWNER_ONLY), "w", encoding="utf-8") as written:
            written.write(f"{secret}\n")
        part.replace(file)
    return secret
