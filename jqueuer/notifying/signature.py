"""The signature of a webhook, as the Standard Webhooks specification 1.0.0 has it, so that its libraries check ours.

Signed is ``<id>.<timestamp>.<body>`` by HMAC-SHA256. The secret is ``whsec_`` and 24 to 64 bytes in base64.
"""

from __future__ import annotations

import base64
import binascii
import hmac
import secrets
from typing import Final

_PREFIX: Final = "whsec_"
_LEAST_BYTES, _MOST_BYTES = 24, 64


def new_secret() -> str:
    """A secret that nobody can guess."""
    return _PREFIX + base64.b64encode(secrets.token_bytes(32)).decode()


def check_secret(secret: str) -> str:
    """The secret if it is one; :class:`ValueError`, which does not repeat it, otherwise."""
    _key(secret)
    return secret


def headers(secret: str, message_id: str, moment: float, body: bytes) -> dict[str, str]:
    """The headers that say which message it is, when it was sent (seconds since the epoch), and that we said it."""
    timestamp = str(int(moment))
    signed = b".".join((message_id.encode(), timestamp.encode(), body))
    signature = base64.b64encode(hmac.digest(_key(secret), signed, "sha256")).decode()
    return {"webhook-id": message_id, "webhook-timestamp": timestamp, "webhook-signature": f"v1,{signature}"}


def _key(secret: str) -> bytes:
    try:
        if not secret.startswith(_PREFIX):
            raise ValueError
        key = base64.b64decode(secret.removeprefix(_PREFIX), validate=True)
    except (ValueError, binascii.Error):
        key = b""
    if not _LEAST_BYTES <= len(key) <= _MOST_BYTES:
        raise ValueError(
            f"expected {_PREFIX} and then {_LEAST_BYTES} to {_MOST_BYTES} random bytes in base64: "
            'printf "whsec_%s\\n" "$(openssl rand -base64 32)" makes one'
        )
    return key
