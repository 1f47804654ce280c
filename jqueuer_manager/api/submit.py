"""``POST /experiments``: a description, or a header and jobs line by line; and what the manager accepts."""

from __future__ import annotations

from typing import Any, Final

from flask import Response, request
from flask_openapi.blueprint import APIBlueprint

from jqueuer.access import Role
from jqueuer_manager.api.access import current_user, needs
from jqueuer_manager.api.answers import answer
from jqueuer_manager.api.bodies import Body, require_media_type
from jqueuer_manager.api.parameters import MAX_PAGE, SubmitHeader, SubmitQuery
from jqueuer_manager.api.problems import documented
from jqueuer_manager.api.schemas import Limits, Submitted
from jqueuer_manager.api.views import experiment_links
from jqueuer_manager.receiver import Receipt, Receiver, Submission
from jqueuer_manager.services import Services

JSON: Final = frozenset({"application/json"})
YAML: Final = frozenset({"application/yaml", "application/x-yaml", "text/yaml", "text/x-yaml"})
LINES: Final = frozenset({"application/x-ndjson", "application/jsonl"})

_OBJECT: Final = {"type": "object", "description": "An experiment: `jqueuer schema` prints its JSON Schema"}
BODY: Final[dict[str, Any]] = {
    "description": "A description (native or of 2018), or one line of global parameters and then a job per line",
    "content": {
        "application/json": {"schema": _OBJECT},
        "application/yaml": {"schema": _OBJECT},
        "application/x-ndjson": {"schema": {"type": "string", "description": "JSON objects, one a line"}},
    },
}


def add_routes(routes: APIBlueprint, services: Services, receiver: Receiver) -> None:
    """Add the routes to the blueprint of the experiments."""

    @routes.post(
        "/experiments",
        operation_id="submitExperiment",
        request_body=BODY,
        responses={201: Submitted, **documented(400, 409, 413, 415)},
    )
    @needs(Role.SUBMITTER)
    def submit(header: SubmitHeader, query: SubmitQuery) -> Response:
        """Submit an experiment; it runs from now on."""
        media_type = require_media_type(JSON | YAML | LINES)
        submission = Submission(current_user().name, header.key, query.source, query.source_digest, query.if_feasible)
        body = Body(request, services.settings.max_body_bytes)
        if media_type in LINES:
            return _created(receiver.receive_lines(body.buffered(), body.sha256, submission))
        content = body.buffered().read()
        return _created(receiver.receive(content, body.sha256(), submission))

    @routes.get("/limits", operation_id="getLimits", responses={200: Limits})
    @needs(Role.VIEWER)
    def limits() -> Response:
        """Say how much this manager accepts."""
        settings = services.settings
        return answer(
            Limits(
                max_body_bytes=settings.max_body_bytes,
                max_input_bytes=settings.max_input_bytes,
                max_jobs=settings.max_jobs,
                max_experiments_per_user=settings.max_experiments_per_user,
                max_page=MAX_PAGE,
            )
        )


def _created(receipt: Receipt) -> Response:
    links = experiment_links(receipt.record.id)
    submitted = Submitted(
        id=receipt.record.id,
        state=receipt.record.state,
        jobs=receipt.jobs,
        notices=list(receipt.record.notices),
        links=links,
    )
    return answer(submitted, 201, {"Location": links["self"]})
