"""The outputs of an experiment: listed over all jobs, fetched one by one."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from typing import Final
from urllib.parse import quote

from flask import Response
from flask_openapi.blueprint import APIBlueprint

from jqueuer.access import Role
from jqueuer.errors import NotFoundError
from jqueuer.model import POST_JOB_ID
from jqueuer.records import JobRecord
from jqueuer_manager.api.access import needs
from jqueuer_manager.api.answers import answer, in_chunks
from jqueuer_manager.api.jobs import find_attempt, find_job
from jqueuer_manager.api.parameters import PREFIX, ExperimentPath, OutputPath, OutputsQuery
from jqueuer_manager.api.problems import documented
from jqueuer_manager.api.schemas import OutputList, OutputModel
from jqueuer_manager.api.views import output
from jqueuer_manager.services import Services

_JOBS_AT_ONCE: Final = 100
_JOBS_PER_PAGE: Final = 2000
"""Jobs without outputs cost time too: after so many a page ends, however short it is."""

_POST: Final = "post"
_BYTES: Final = {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}}


def blueprint(services: Services) -> APIBlueprint:
    """The routes over these services."""
    routes = APIBlueprint(
        "outputs",
        __name__,
        url_prefix=f"{PREFIX}/experiments/<experiment_id>",
        abp_tags=[{"name": "jobs"}],
        abp_responses=documented(404, 422, 503),
    )

    @routes.get("/outputs", operation_id="listOutputs", responses={200: OutputList})
    @needs(Role.VIEWER)
    def listing(path: ExperimentPath, query: OutputsQuery) -> Response:
        """List the outputs of every job's last attempt, and then those of the post command."""
        experiment_id = services.experiments.get(path.experiment_id).id
        return answer(_page(services, experiment_id, query.after, query.limit))

    @routes.get(
        "/jobs/<job_id>/attempts/<number>/outputs/<path:path>",
        operation_id="getOutput",
        responses={200: {"description": "The file", "content": _BYTES}},
    )
    @needs(Role.VIEWER)
    def download(path: OutputPath) -> Response:
        """Fetch one output."""
        attempt = find_attempt(find_job(services, path), path.number)
        file = next((file for file in attempt.outputs if file.path == path.path), None)
        if file is None:
            raise NotFoundError(f"job {path.job_id!r}, attempt {path.number}, has no output {path.path!r}")
        content = services.artifacts.open_output(path.experiment_id, path.job_id, path.number, file.path)
        headers = {
            "Content-Type": "application/octet-stream",
            "Content-Length": str(file.size_bytes),
            "Content-Disposition": f"attachment; filename*=UTF-8''{quote(file.path.rsplit('/', 1)[-1], safe='')}",
            "ETag": f'"{file.sha256}"',
        }
        return Response(in_chunks(content), headers=headers)

    return routes


def _page(services: Services, experiment_id: str, after: str, limit: int) -> OutputList:
    """The outputs from a place on; a place is ``<position of the job>.<position among its outputs>``."""
    found: list[OutputModel] = []
    place, _, skip_text = after.partition(".")
    skip = int(skip_text or 0)
    if place != _POST:
        first = int(place or 0)
        for position, job in _jobs(services, experiment_id, first):
            for number, one in enumerate(_outputs_of(experiment_id, job.spec.id, job)):
                if position == first and number < skip:
                    continue
                if len(found) == limit:
                    return _with_next(found, experiment_id, f"{position}.{number}", limit)
                found.append(one)
            if position - first + 1 == _JOBS_PER_PAGE:
                return _with_next(found, experiment_id, f"{position + 1}.0", limit)
        skip = 0
    for number, one in enumerate(_post_outputs(services, experiment_id)):
        if number < skip:
            continue
        if len(found) == limit:
            return _with_next(found, experiment_id, f"{_POST}.{number}", limit)
        found.append(one)
    return OutputList(outputs=found, next=None)


def _jobs(services: Services, experiment_id: str, first: int) -> Iterator[tuple[int, JobRecord]]:
    for offset in count(first, _JOBS_AT_ONCE):
        jobs = services.ledger.page(experiment_id, offset=offset, limit=_JOBS_AT_ONCE).jobs
        yield from enumerate(jobs, start=offset)
        if len(jobs) < _JOBS_AT_ONCE:
            return


def _post_outputs(services: Services, experiment_id: str) -> list[OutputModel]:
    try:
        return _outputs_of(experiment_id, POST_JOB_ID, services.ledger.job(experiment_id, POST_JOB_ID))
    except NotFoundError:
        return []


def _outputs_of(experiment_id: str, job_id: str, job: JobRecord) -> list[OutputModel]:
    attempt = job.deciding
    if attempt is None:
        return []
    return [output(experiment_id, job_id, attempt.number, file) for file in attempt.outputs]


def _with_next(found: list[OutputModel], experiment_id: str, place: str, limit: int) -> OutputList:
    following = f"{PREFIX}/experiments/{experiment_id}/outputs?after={place}&limit={limit}"
    return OutputList(outputs=found, next=following)
