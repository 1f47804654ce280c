"""A client of the manager's REST API; the command line is built on it."""

from __future__ import annotations

import hashlib
import time
import uuid
from collections.abc import Callable, Generator, Iterable, Iterator
from pathlib import Path
from types import TracebackType
from typing import Any, Final
from urllib.parse import quote

from jqueuer.client.downloads import has_content, inside, write_verified
from jqueuer.client.event_stream import events_of
from jqueuer.client.transport import ClientError, Transport
from jqueuer.states import ExperimentState

_API: Final = "/api/v1"
_PAGE: Final = 500
_NOT_FOUND: Final = 404
_RANGE_NOT_SATISFIABLE: Final = 416


class Client:
    """Talks to one manager. Answers are the API's JSON as dictionaries; refusals are :class:`ClientError`.

    Without a ``token`` it is looked for where :mod:`jqueuer.client.credentials` says.
    """

    def __init__(self, url: str, *, token: str | None = None, timeout: float = 30.0) -> None:
        self._http = Transport(url, token=token, timeout=timeout)

    def __enter__(self) -> Client:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def url(self) -> str:
        """Where the manager is."""
        return self._http.url

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def submit_bytes(
        self,
        data: bytes,
        content_type: str = "application/yaml",
        *,
        idempotency_key: str | None = None,
        source: str = "",
        source_digest: str = "",
        if_feasible: bool = False,
    ) -> dict[str, Any]:
        """Submit a description; without a key of the caller's one is made up, so that repeating it is safe.

        With ``if_feasible`` what cannot be promised is refused: an error of kind ``infeasible``, whose ``problem``
        has the ``quote``.
        """
        headers = {"Content-Type": content_type, "Idempotency-Key": idempotency_key or uuid.uuid4().hex}
        query = {"source": source, "source_digest": source_digest, "if_feasible": "true" if if_feasible else None}
        return self._json("POST", "/experiments", data=data, headers=headers, params=query)

    def submit_stream(
        self,
        lines: Iterable[str | bytes],
        *,
        idempotency_key: str | None = None,
        source: str = "",
        source_digest: str = "",
        if_feasible: bool = False,
    ) -> dict[str, Any]:
        """Submit a header line and then a job per line, as they come; never repeated by itself."""
        headers = {"Content-Type": "application/x-ndjson"}
        if idempotency_key is not None:
            headers["Idempotency-Key"] = idempotency_key
        query = {"source": source, "source_digest": source_digest, "if_feasible": "true" if if_feasible else None}
        body = _blocks(lines)
        return self._json("POST", "/experiments", repeatable=False, data=body, headers=headers, params=query)

    def quote_bytes(self, data: bytes, content_type: str = "application/yaml", *, source: str = "") -> dict[str, Any]:
        """What could be promised about this description."""
        headers = {"Content-Type": content_type}
        return self._json("POST", "/quotes", data=data, headers=headers, params={"source": source})

    def quote_stream(self, lines: Iterable[str | bytes]) -> dict[str, Any]:
        """The same for a header line and then a job per line."""
        headers = {"Content-Type": "application/x-ndjson"}
        return self._json("POST", "/quotes", repeatable=False, data=_blocks(lines), headers=headers)

    def upload_input(self, path: Path) -> str:
        """Send a file if the manager does not have it; its SHA-256."""
        with path.open("rb") as file:
            sha256 = hashlib.file_digest(file, "sha256").hexdigest()
            if not self.has_input(sha256):
                file.seek(0)
                self._http.send("PUT", f"{_API}/files/{sha256}", repeatable=False, data=file)
        return sha256

    def has_input(self, sha256: str) -> bool:
        """Whether the manager has a file with this checksum."""
        try:
            self._http.send("HEAD", f"{_API}/files/{sha256}")
        except ClientError as error:
            if error.status == _NOT_FOUND:
                return False
            raise
        return True

    def limits(self) -> dict[str, Any]:
        """What the manager accepts."""
        return self._json("GET", "/limits")

    def me(self) -> dict[str, Any]:
        """Who the manager takes this client for: ``name``, ``role``, and the ``token`` but for what it is."""
        return self._json("GET", "/me")

    def tokens(self) -> list[dict[str, Any]]:
        """All tokens, oldest first, but for what they are."""
        return list(self._json("GET", "/tokens")["tokens"])

    def make_token(self, name: str, role: str, *, expires: str | float | None = None, note: str = "") -> dict[str, Any]:
        """Make a token for a user; the ``token`` of the answer is shown this once."""
        wish = {"name": name, "role": role, "expires": expires, "note": note}
        return self._json("POST", "/tokens", repeatable=False, json=wish)

    def remove_token(self, token_id: str) -> None:
        """Withdraw a token."""
        self._http.send("DELETE", f"{_API}/tokens/{quote(token_id, safe='')}")

    def experiments(self, *, states: Iterable[str] = (), owner: str = "") -> Iterator[dict[str, Any]]:
        """All experiments, newest first, page after page; with ``owner`` those of this user."""
        return self._pages("/experiments", "experiments", {"state": list(states), "owner": owner or None})

    def newest_experiments(self, *, states: Iterable[str] = (), limit: int = 50) -> dict[str, Any]:
        """The newest ``experiments``, as many as a page may have at most, and how many there are in ``total``."""
        return self._json("GET", "/experiments", params={"state": list(states), "limit": limit})

    def experiment(self, experiment_id: str) -> dict[str, Any]:
        """Everything about one experiment."""
        return self._json("GET", _of(experiment_id))

    def summary(self, experiment_id: str) -> dict[str, Any]:
        """What it did, in one flat object."""
        return self._json("GET", f"{_of(experiment_id)}/summary")

    def journal(self, experiment_id: str, *, limit: int = 200) -> list[dict[str, Any]]:
        """The latest decisions with their reasons, oldest first."""
        entries = self._json("GET", f"{_of(experiment_id)}/journal", params={"limit": limit})["entries"]
        return list(entries)

    def timeline(self, experiment_id: str, *, since: float = 0.0) -> list[dict[str, Any]]:
        """The latest attempts that ended at that moment or later, and those that run, by their beginnings."""
        return list(self._json("GET", f"{_of(experiment_id)}/timeline", params={"since": since})["spans"])

    def jobs(self, experiment_id: str, *, state: str | None = None, search: str = "") -> Iterator[dict[str, Any]]:
        """All jobs in order, by state and by a part of the id, page after page."""
        query = {"state": state, "search": search or None}
        return self._pages(f"{_of(experiment_id)}/jobs", "jobs", query)

    def job(self, experiment_id: str, job_id: str) -> dict[str, Any]:
        """One job with its attempts; ``@post`` is the post command."""
        return self._json("GET", _job(experiment_id, job_id))

    def log(self, experiment_id: str, job_id: str, attempt: int, stream: str, start: int = 0) -> Iterator[bytes]:
        """What an attempt printed (``stdout`` or ``stderr``) from a byte on, in chunks; nothing where there is none.

        A ``start`` below zero counts from the end.
        """
        path = f"{_API}{_job(experiment_id, job_id)}/attempts/{attempt}/{stream}"
        headers = {"Range": f"bytes={start}-" if start > 0 else f"bytes={start}"} if start else None
        try:
            with self._http.stream(path, headers) as chunks:
                yield from chunks
        except ClientError as error:
            if error.status != _RANGE_NOT_SATISFIABLE:
                raise

    def outputs(self, experiment_id: str) -> Iterator[dict[str, Any]]:
        """The outputs of all jobs and of the post command, page after page."""
        return self._pages(f"{_of(experiment_id)}/outputs", "outputs", {})

    def download(
        self,
        experiment_id: str,
        directory: Path,
        *,
        place: Callable[[dict[str, Any]], tuple[str, ...] | None] = lambda output: (output["job"], output["path"]),
    ) -> Iterator[Path]:
        """Fetch outputs, verified; what is there already is not fetched again.

        ``place`` says where below the directory an output goes, as parts of a path, or None for nowhere.
        Raises :class:`~jqueuer.client.downloads.DownloadError` for a path that leads out of the directory, or content
        that is not what its checksum says.
        """
        for output in self.outputs(experiment_id):
            parts = place(output)
            if parts is None:
                continue
            target = inside(directory, *parts)
            if not has_content(target, output["sha256"]):
                job = _job(experiment_id, output["job"])
                path = f"{_API}{job}/attempts/{output['attempt']}/outputs/{quote(output['path'])}"
                with self._http.stream(path) as chunks:
                    write_verified(target, chunks, output["sha256"])
            yield target

    def pause(self, experiment_id: str) -> dict[str, Any]:
        """Start no more jobs."""
        return self._json("POST", f"{_of(experiment_id)}/pause")

    def resume(self, experiment_id: str) -> dict[str, Any]:
        """Go on."""
        return self._json("POST", f"{_of(experiment_id)}/resume")

    def cancel(self, experiment_id: str) -> dict[str, Any]:
        """End it now."""
        return self._json("POST", f"{_of(experiment_id)}/cancel")

    def retry(self, experiment_id: str) -> dict[str, Any]:
        """Queue failed and cancelled jobs once more."""
        return self._json("POST", f"{_of(experiment_id)}/retry", repeatable=False)

    def change_deadline(self, experiment_id: str, deadline: str | float) -> dict[str, Any]:
        """Set the deadline: a duration since the start, or a moment with its time zone (ISO 8601)."""
        return self._json("PATCH", _of(experiment_id), json={"deadline": deadline})

    def change_limits(
        self, experiment_id: str, *, minimum: int | None = None, maximum: int | None = None
    ) -> dict[str, Any]:
        """Set the fewest or the most containers."""
        limits = {name: value for name, value in (("min", minimum), ("max", maximum)) if value is not None}
        return self._json("PATCH", _of(experiment_id), json={"containers": limits})

    def delete(self, experiment_id: str) -> None:
        """Forget an experiment that has ended."""
        self._http.send("DELETE", _API + _of(experiment_id))

    def nodes(self) -> list[dict[str, Any]]:
        """Every node, ready or not, with what it has and what of it is reserved."""
        return list(self._json("GET", "/nodes")["nodes"])

    def ready(self) -> str:
        """Why the manager cannot do its work now, such as a store that does not answer; empty where it can."""
        try:
            self._http.send("GET", "/readyz", repeatable=False)
        except ClientError as error:
            if error.status is None:
                raise
            return error.detail
        return ""

    def metrics(self) -> str:
        """The manager's numbers, as Prometheus reads them."""
        return str(self._http.send("GET", "/metrics", repeatable=False).text)

    def now(self) -> float:
        """The manager's time in seconds since the epoch, as far as its answers have told it."""
        return self._http.now()

    def events(self, experiment_id: str = "") -> Generator[tuple[str, Any], None, None]:
        """What changes of an experiment, or of the list, as it does: ``(event, data)``, as docs/api.md describes them.

        Ends when the manager ends it. Not repeated by itself: who is refused, or cut off, asks now and then instead.
        """
        query = {"experiment": experiment_id} if experiment_id else {}
        with self._http.stream(f"{_API}/events", at_once=True, repeatable=False, params=query) as chunks:
            yield from events_of(chunks)

    def wait(
        self,
        experiment_id: str,
        *,
        poll_seconds: float = 0.5,
        settle_seconds: float = 10.0,
        watch: Callable[[dict[str, Any]], None] = lambda experiment: None,
    ) -> dict[str, Any]:
        """Wait until it has ended; ``watch`` sees every look on the way.

        Its containers are given ``settle_seconds`` more to end, so that what they cost is known.
        """
        ended_at: float | None = None
        while True:
            experiment = self.experiment(experiment_id)
            watch(experiment)
            if ExperimentState(experiment["state"]).terminal:
                ended_at = ended_at or time.monotonic()
                if experiment["settled"] or time.monotonic() - ended_at > settle_seconds:
                    return experiment
            time.sleep(poll_seconds)

    def _json(self, method: str, path: str, **options: Any) -> dict[str, Any]:
        found: dict[str, Any] = self._http.send(method, _API + path, **options).json()
        return found

    def _pages(self, path: str, name: str, query: dict[str, Any]) -> Iterator[dict[str, Any]]:
        page = self._json("GET", path, params={**query, "limit": _PAGE})
        while True:
            yield from page[name]
            following = page["next"]
            if following is None:
                return
            page = self._json("GET", str(following).removeprefix(_API))


def _of(experiment_id: str) -> str:
    return f"/experiments/{quote(experiment_id, safe='')}"


def _job(experiment_id: str, job_id: str) -> str:
    return f"{_of(experiment_id)}/jobs/{quote(job_id, safe='@')}"


def _blocks(lines: Iterable[str | bytes], block_bytes: int = 64 * 1024) -> Iterator[bytes]:
    """Lines joined to blocks: each block is one chunk on the wire."""
    block = bytearray()
    for line in lines:
        block += line.encode() if isinstance(line, str) else line
        if not block.endswith(b"\n"):
            block += b"\n"
        if len(block) >= block_bytes:
            yield bytes(block)
            block.clear()
    if block:
        yield bytes(block)
