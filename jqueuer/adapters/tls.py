"""TLS to the manager, the store and the broker: whom to trust, and what to say where nobody vouches for the other end.

Certificates are always checked, host names too. ``ca_file`` is trusted instead of the system's authorities.
"""

from __future__ import annotations

import ssl
from pathlib import Path
from typing import Any, Final

from jqueuer.errors import SettingsError

_UNTRUSTED: Final = "CERTIFICATE_VERIFY_FAILED"


def check_ca_file(ca_file: Path | None) -> None:
    """:class:`~jqueuer.errors.SettingsError` where there are no certificates in it."""
    if ca_file is None:
        return
    try:
        ssl.create_default_context(cafile=str(ca_file))
    except (OSError, ssl.SSLError) as error:
        raise SettingsError(
            f"JQUEUER_CA_FILE: {ca_file} cannot be read as certificates in PEM: {_reason(error)}"
        ) from None


def check_certificate(certificate: Path | None, key: Path | None) -> None:
    """:class:`~jqueuer.errors.SettingsError` where the manager could not show this certificate."""
    if (certificate is None) != (key is None):
        given, missing = ("CERTIFICATE", "KEY") if key is None else ("KEY", "CERTIFICATE")
        raise SettingsError(
            f"JQUEUER_TLS_{given} is set and JQUEUER_TLS_{missing} is not: HTTPS needs both, HTTP neither"
        )
    if certificate is None or key is None:
        return
    for name, file in (("CERTIFICATE", certificate), ("KEY", key)):
        try:
            file.read_bytes()
        except OSError as error:
            raise SettingsError(f"JQUEUER_TLS_{name}: {file} cannot be read: {_reason(error)}") from None
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(certificate, key, password=_no_password)
    except (OSError, ValueError) as error:
        raise SettingsError(
            f"JQUEUER_TLS_CERTIFICATE ({certificate}) and JQUEUER_TLS_KEY ({key}) are not a certificate chain and its "
            f"key without a pass phrase, in PEM: {_reason(error)}"
        ) from None


def store_options(url: str, ca_file: Path | None) -> dict[str, Any]:
    """What redis-py is told beside a ``rediss://`` URL."""
    if not url.startswith("rediss:"):
        return {}
    trusted = {} if ca_file is None else {"ssl_ca_certs": str(ca_file)}
    return {"ssl_cert_reqs": "required", "ssl_check_hostname": True, **trusted}


def broker_options(url: str, ca_file: Path | None) -> dict[str, Any] | None:
    """Celery's ``broker_use_ssl`` beside an ``amqps://`` or ``rediss://`` URL."""
    if url.startswith("rediss:"):
        return store_options(url, ca_file)
    if not url.startswith("amqps:"):
        return None
    trusted = {} if ca_file is None else {"ca_certs": str(ca_file)}
    # kombu replaces a server_hostname of None by the URL's; without it no name would be checked.
    return {"cert_reqs": ssl.CERT_REQUIRED, "server_hostname": None, **trusted}


def hint(error: BaseException) -> str:
    """What to do about a certificate that was not trusted, to be appended to the error; else nothing."""
    if _UNTRUSTED not in str(error):
        return ""
    return (
        "; its certificate is not trusted here: JQUEUER_CA_FILE has to name the certificate of the authority that "
        "signed it, and the URL a name that the certificate is for"
    )


def _no_password() -> str:
    return ""  # else OpenSSL would ask for one on the terminal


def _reason(error: BaseException) -> str:
    return (getattr(error, "strerror", None) or str(error)).strip()
