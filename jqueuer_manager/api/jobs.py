"""The jobs of an experiment, their attempts, and what they printed."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from http import HTTPStatus
from typing import Final

from flask import Response, request
from flask_openapi.blueprint import APIBlueprint

from jqueuer.access import Role
from jqueuer.errors import NotFoundError
from jqueuer.records import Attempt, JobRecord, LogRecord
from jqueuer_manager.api.access import needs
from jqueuer_manager.api.answers import CHUNK_BYTES, answer
from jqueuer_manager.api.parameters import PREFIX, ExperimentPath, JobPath, JobsQuery, LogPath, next_link
from jqueuer_manager.api.problems import Responses, documented, problem
from jqueuer_manager.api.schemas import JobDetail, JobList
from jqueuer_manager.api.views import job_detail, job_item
from jqueuer_manager.services import Services

_TEXT: Final = {"text/plain": {"schema": {"type": "string"}}}
_LOG_RESPONSES: Final[Responses] = {
    200: {"description": "The whole stream", "content": _TEXT},
    206: {"description": "The range that was asked for", "content": _TEXT},
}


def blueprint(services: Services) -> APIBlueprint:
    """The routes over these services."""
    routes = APIBlueprint(
        "jobs",
        __name__,
        url_prefix=f"{PREFIX}/experiments/<experiment_id>/jobs",
        abp_tags=[{"name": "jobs"}],
        abp_responses=documented(404, 422, 503),
    )

    @routes.get("", operation_id="listJobs", responses={200: JobList})
    @needs(Role.VIEWER)
    def listing(path: ExperimentPath, query: JobsQuery) -> Response:
        """List jobs in order, by state and by a part of the id."""
        experiment_id = services.experiments.get(path.experiment_id).id
        page = services.ledger.page(
            experiment_id, state=query.state, search=query.search, offset=query.offset, limit=query.limit
        )
        following = next_link(f"{PREFIX}/experiments/{experiment_id}/jobs", query, page.total)
        items = [job_item(experiment_id, job) for job in page.jobs]
        return answer(JobList(jobs=items, total=page.total, next=following))

    @routes.get("/<job_id>", operation_id="getJob", responses={200: JobDetail})
    @needs(Role.VIEWER)
    def detail(path: JobPath) -> Response:
        """Show one job with its attempts; ``@post`` is the experiment's post command."""
        return answer(job_detail(path.experiment_id, path.job_id, find_job(services, path)))

    @routes.get(
        "/<job_id>/attempts/<number>/<any(stdout,stderr):stream>",
        operation_id="getLog",
        responses={**_LOG_RESPONSES, **documented(416)},
    )
    @needs(Role.VIEWER)
    def log(path: LogPath) -> Response:
        """Read what the commands printed, whole or a range of bytes; of a running job, what there is so far."""
        attempt = find_attempt(find_job(services, path), path.number)
        record: LogRecord = getattr(attempt, path.stream)
        kept = _Inline(record.inline) if record.inline is not None else _Stored(services, path)
        return _ranged(kept)

    return routes


def find_job(services: Services, path: JobPath) -> JobRecord:
    """The job of a path, in an experiment that was accepted."""
    return services.ledger.job(services.experiments.get(path.experiment_id).id, path.job_id)


def find_attempt(job: JobRecord, number: int) -> Attempt:
    """The attempt of a path."""
    for attempt in job.attempts:
        if attempt.number == number:
            return attempt
    raise NotFoundError(f"the job has no attempt {number}; it has {len(job.attempts)}")


class _Inline:
    """A small log, kept in the record."""

    def __init__(self, encoded: str) -> None:
        self._data = base64.b64decode(encoded)
        self.size_bytes = len(self._data)

    def read(self, start: int, length: int) -> bytes:
        return self._data[start : start + length]


class _Stored:
    """A log kept with the artifacts."""

    def __init__(self, services: Services, path: LogPath) -> None:
        self._artifacts = services.artifacts
        self._path = path
        self.size_bytes = self._look(0, 0)[1]

    def read(self, start: int, length: int) -> bytes:
        return self._look(start, length)[0]

    def _look(self, start: int, length: int) -> tuple[bytes, int]:
        path = self._path
        return self._artifacts.read_log(path.experiment_id, path.job_id, path.number, path.stream, start, length)


def _ranged(log: _Inline | _Stored) -> Response:
    """The bytes asked for; several ranges at once are answered with the whole, as RFC 9110 allows."""
    start, stop, status = 0, log.size_bytes, HTTPStatus.OK
    headers = {"Accept-Ranges": "bytes", "Content-Type": "text/plain; charset=utf-8"}
    asked = request.range
    if asked is not None and asked.units == "bytes" and len(asked.ranges) == 1:
        first, end = asked.ranges[0]
        start = first if first >= 0 else max(0, log.size_bytes + first)
        stop = min(log.size_bytes, end) if end is not None else log.size_bytes
        if start >= stop:
            size = f"bytes */{log.size_bytes}"
            return problem(416, "range", f"the stream has {log.size_bytes} bytes", headers={"Content-Range": size})
        status = HTTPStatus.PARTIAL_CONTENT
        headers["Content-Range"] = f"bytes {start}-{stop - 1}/{log.size_bytes}"
    headers["Content-Length"] = str(stop - start)
    return Response(_slices(log, start, stop), status, headers)


def _slices(log: _Inline | _Stored, start: int, stop: int) -> Iterator[bytes]:
    while start < stop and (data := log.read(start, min(CHUNK_BYTES, stop - start))):
        start += len(data)
        yield data
