"""Signatures of job messages: who can write to the broker cannot, for that alone, make agents do anything.

HMAC-SHA256 with a key made of the agents' token. A signature binds experiment and job; a message that is sent twice is
harmless, as any doubled one is, because whether there is something to run the store says.
"""

from __future__ import annotations

import hmac
from typing import Final

_PURPOSE: Final = b"jqueuer job message, version 1"


class MessageSigner:
    """Signs and checks with one key; with an empty secret it signs nothing and accepts everything."""

    def __init__(self, secret: str) -> None:
        self._key = hmac.digest(secret.encode(), _PURPOSE, "sha256") if secret else b""

    def sign(self, experiment_id: str, job_id: str) -> str:
        """The signature, in hexadecimal; empty where there is no key."""
        if not self._key:
            return ""
        # Neither id contains a line feed, so no two pairs are written alike.
        return hmac.digest(self._key, f"{experiment_id}\n{job_id}".encode(), "sha256").hex()

    def holds(self, experiment_id: str, job_id: str, signature: str) -> bool:
        """Whether the signature is of these ids and this key."""
        given = signature.encode(errors="replace")  # whatever it is, it is compared
        return not self._key or hmac.compare_digest(self.sign(experiment_id, job_id).encode(), given)
