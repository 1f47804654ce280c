"""Certificates for tests, made with openssl: an authority of one's own, and what it has signed."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Certificate:
    """A certificate in PEM and its key."""

    chain: Path
    key: Path


class Authority:
    """Signs certificates in a directory; :attr:`file` is what those have to know who are to trust them."""

    def __init__(self, directory: Path) -> None:
        directory.mkdir(parents=True, exist_ok=True)
        self._directory = directory
        self.file = directory / "authority.pem"
        self._key = directory / "authority.key"
        _openssl(
            *("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"),
            *("-subj", "/CN=Authority of these tests", "-keyout", str(self._key), "-out", str(self.file)),
        )

    def certificate(self, *names: str) -> Certificate:
        """One for hosts (``DNS:localhost``, ``IP:127.0.0.1``)."""
        stem = f"{len(list(self._directory.iterdir()))}"
        made = Certificate(self._directory / f"{stem}.pem", self._directory / f"{stem}.key")
        _openssl(
            *("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"),
            *("-CA", str(self.file), "-CAkey", str(self._key), "-subj", "/CN=test"),
            *("-addext", f"subjectAltName={','.join(names)}", "-addext", "basicConstraints=critical,CA:FALSE"),
            *("-keyout", str(made.key), "-out", str(made.chain)),
        )
        return made


def _openssl(*arguments: str) -> None:
    subprocess.run(["openssl", *arguments], check=True, capture_output=True)
