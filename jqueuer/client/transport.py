"""HTTP to the manager: what is safe to repeat is repeated, what is refused becomes one error."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from email.utils import parsedate_to_datetime
from typing import Any, Final
from urllib.parse import urlsplit

import requests
import stamina
from requests.auth import AuthBase

from jqueuer.client.credentials import Credentials, checked, find_authorities, find_credentials
from jqueuer.errors import Fault, JQueuerError, SettingsError

_ATTEMPTS: Final = 5
_UNAVAILABLE: Final = 503
_UNAUTHENTICATED: Final = 401
_TRANSIENT: Final = (requests.ConnectionError, requests.Timeout)
_TOLERATED_SKEW_SECONDS: Final = 2.0
"""An answer says the time in whole seconds, and may have been on its way."""


class ClientError(JQueuerError):
    """The manager refused a request, or did not answer."""

    def __init__(
        self,
        detail: str,
        *,
        status: int | None = None,
        faults: tuple[Fault, ...] = (),
        problem: Mapping[str, Any] | None = None,
    ) -> None:
        self.detail = detail
        self.status = status
        """The HTTP status; None where there was no answer."""
        self.faults = faults
        self.problem = problem or {}
        """All that the manager said about it (RFC 9457)."""
        super().__init__(detail)

    @property
    def kind(self) -> str:
        """The kind of problem, as docs/api.md lists them: ``conflict``, say; empty where there was no answer."""
        return str(self.problem.get("type", "")).rpartition(":")[2]


class _UnavailableError(Exception):
    """The manager said 503."""

    def __init__(self, response: requests.Response) -> None:
        self.response = response
        super().__init__(f"the manager answered {response.status_code}")


class _Bearer(AuthBase):
    """Shows a token; as the session's authentication it is never replaced by what a .netrc says of the host."""

    def __init__(self, token: str) -> None:
        self._token = token

    def __call__(self, request: requests.PreparedRequest) -> requests.PreparedRequest:
        if self._token:
            request.headers["Authorization"] = f"Bearer {self._token}"
        return request


class Transport:
    """A session with one manager; :class:`~jqueuer.errors.SettingsError` where it cannot have such a URL.

    Redirections are not followed, so a token goes to nobody but whom the URL names.
    """

    def __init__(self, url: str, *, token: str | None, timeout: float) -> None:
        if not _has_host(url):
            raise SettingsError(
                f"the manager's URL (--url, JQUEUER_URL) is {url!r}: "
                "expected http:// or https://, then host and port, as in http://127.0.0.1:8081"
            )
        self.url = url.rstrip("/")
        self._timeout = timeout
        self._credentials = (
            find_credentials(url) if token is None else Credentials(checked(token, "the token"), "that was given")
        )
        self._authorities = find_authorities()
        self._skew_seconds = 0.0
        self._session = requests.Session()
        self._session.auth = _Bearer(self._credentials.token)

    def close(self) -> None:
        """Close the connections."""
        self._session.close()

    def send(self, method: str, path: str, *, repeatable: bool = True, **options: Any) -> requests.Response:
        """The answer to one request; :class:`ClientError` where it is a refusal or there is none.

        ``repeatable`` requests are sent again, with growing pauses, while the manager is away or says 503.
        """
        try:
            return self._send(method, path, repeatable, options)
        except _UnavailableError as error:
            raise error_of(error.response) from None
        except requests.RequestException as error:
            raise ClientError(f"no answer from the manager at {self.url}: {_reason(error)}") from error

    def _send(self, method: str, path: str, repeatable: bool, options: Mapping[str, Any]) -> requests.Response:
        for attempt in stamina.retry_context(
            on=(*_TRANSIENT, _UnavailableError),
            attempts=_ATTEMPTS if repeatable else 1,
            wait_initial=0.1,
            wait_max=2.0,
            wait_jitter=0.1,
        ):
            with attempt:
                response = self._session.request(
                    method,
                    self.url + path,
                    timeout=self._timeout,
                    allow_redirects=False,
                    verify=self._authorities,
                    **options,
                )
                self._learn_time(response)
                if response.status_code == _UNAVAILABLE:
                    raise _UnavailableError(response)
        if response.is_redirect:
            raise ClientError(f"{self.url} leads on to {response.headers['Location']}: give the manager's own URL")
        if response.status_code == _UNAUTHENTICATED:
            raise self._unauthenticated(error_of(response))
        if response.status_code >= 400:
            raise error_of(response)
        return response

    def now(self) -> float:
        """The manager's time, as far as its answers have told."""
        return time.time() + self._skew_seconds

    def _learn_time(self, response: requests.Response) -> None:
        try:
            theirs = parsedate_to_datetime(response.headers["Date"]).timestamp()
        except (KeyError, ValueError):
            return
        skew = theirs - time.time()
        self._skew_seconds = skew if abs(skew) > _TOLERATED_SKEW_SECONDS else 0.0

    def _unauthenticated(self, error: ClientError) -> ClientError:
        """The refusal, with what to do about it."""
        if self._credentials.token:
            detail = (
                f"the manager at {self.url} does not know the token {self._credentials.source}: it may have expired, "
                "or been removed; ask an administrator for another"
            )
        else:
            detail = (
                f"the manager at {self.url} wants a token: set JQUEUER_TOKEN to it, or JQUEUER_TOKEN_FILE to the name "
                "of a file that holds it; an administrator makes one with `jqueuer token add`"
            )
        return ClientError(detail, status=error.status, faults=error.faults, problem=error.problem)

    @contextmanager
    def stream(
        self, path: str, headers: Mapping[str, str] | None = None, *, at_once: bool = False, **options: Any
    ) -> Iterator[Iterator[bytes]]:
        """The body of a GET, in chunks as it comes; ``at_once`` none waits to become larger."""
        with self.send("GET", path, stream=True, headers=headers, **options) as response:
            # An answer without chunks of its own would be read to its end before it is told in larger ones.
            size = 64 * 1024 if not at_once else None if getattr(response.raw, "chunked", False) else 1
            try:
                yield response.iter_content(size)
            except requests.RequestException as error:
                raise ClientError(f"the answer of {self.url} broke off: {_reason(error)}") from error


def _has_host(url: str) -> bool:
    try:
        parts = urlsplit(url)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:  # a port that is no number, a bracket without its other one
        return False


def error_of(response: requests.Response) -> ClientError:
    """The error that a refusal describes."""
    try:
        body = response.json()
        faults = tuple(Fault(**fault) for fault in body.get("faults", ()))
        return ClientError(str(body["detail"]), status=response.status_code, faults=faults, problem=body)
    except (ValueError, KeyError, TypeError, AttributeError):
        return ClientError(f"{response.status_code} {response.reason}", status=response.status_code)


def _reason(error: requests.RequestException) -> str:
    cause: BaseException = error
    while cause.__cause__ or cause.__context__:
        cause = cause.__cause__ or cause.__context__ or cause
    return str(cause)
