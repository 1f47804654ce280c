"""The two paths of the 2018 service, kept for its clients."""

from __future__ import annotations

import json
from typing import Any, Final

from flask import Response, request
from flask_openapi.blueprint import APIBlueprint

from jqueuer.access import Role
from jqueuer.errors import ConflictError, DescriptionError, Fault, NotFoundError
from jqueuer.records import ExperimentRecord
from jqueuer.states import ExperimentState
from jqueuer_manager.api.access import current_user, needs
from jqueuer_manager.api.bodies import Body
from jqueuer_manager.api.lifecycle import cancel_experiment
from jqueuer_manager.api.problems import Responses, documented
from jqueuer_manager.receiver import Receiver, Submission
from jqueuer_manager.services import Services

_TEXT: Final[Responses] = {
    200: {"description": "The experiment's id", "content": {"text/plain": {"schema": {"type": "string"}}}}
}
_ANY_BODY: Final = {"content": {"*/*": {"schema": {"type": "string", "description": "A description in any dialect"}}}}
_ACTIVE: Final = tuple(state for state in ExperimentState if not state.terminal)
_MAX_ACTIVE: Final = 10_000
_NAMES: Final = ("service_name", "container")
_DEL_BODY: Final = {
    "description": "JSON, whatever its Content-Type",
    "content": {
        "application/json": {
            "schema": {
                "type": "object",
                "properties": {name: {"type": "string", "minLength": 1} for name in _NAMES},
                "anyOf": [{"required": [name]} for name in _NAMES],
            }
        }
    },
}


def blueprint(services: Services, receiver: Receiver) -> APIBlueprint:
    """The routes over these services."""
    routes = APIBlueprint(
        "legacy",
        __name__,
        url_prefix="/experiment",
        abp_tags=[{"name": "2018"}],
        abp_responses=documented(400, 409, 413, 422, 503),
    )

    @routes.post("/add", operation_id="add2018", request_body=_ANY_BODY, responses=_TEXT)
    @needs(Role.SUBMITTER)
    def add() -> Response:
        """Submit an experiment in a 2018 dialect (or ours); the answer is its id."""
        body = Body(request, services.settings.max_body_bytes)
        content = body.buffered().read()
        receipt = receiver.receive(content, body.sha256(), Submission(current_user().name))
        return Response(receipt.record.id, content_type="text/plain; charset=utf-8")

    @routes.post("/del", operation_id="del2018", request_body=_DEL_BODY, responses={**_TEXT, **documented(404)})
    @needs(Role.SUBMITTER)
    def delete() -> Response:
        """Cancel an experiment, named by its id, its name, or the service it runs in; the answer is its id."""
        content = Body(request, services.settings.max_body_bytes).buffered().read()
        experiment_id = _find(services, _name_in(content))
        cancel_experiment(services, experiment_id)
        return Response(experiment_id, content_type="text/plain; charset=utf-8")

    return routes


def _name_in(content: bytes) -> str:
    try:
        body: Any = json.loads(content)
    except (ValueError, RecursionError):
        body = None
    if isinstance(body, dict):
        for key in _NAMES:
            if isinstance(body.get(key), str) and body[key]:
                return str(body[key])
    raise DescriptionError((Fault("", 'expected {"service_name": "…"} or {"container": "…"}'),))


def _names(record: ExperimentRecord) -> tuple[str, str | None]:
    return record.description.name, record.description.container_name


def _find(services: Services, name: str) -> str:
    store = services.experiments
    if name in store.active():
        return name
    found = [one for one in store.page(states=_ACTIVE, limit=_MAX_ACTIVE)[0] if name in _names(one)]
    user = current_user()
    named = [one.id for one in found if user.may_change(one.owner)] or [one.id for one in found]
    if len(named) > 1:
        raise ConflictError(f"{name!r} names {len(named)} experiments: {', '.join(named)}; give the id of one")
    if not named:
        raise NotFoundError(f"no experiment that is not over has the id or name {name!r}")
    return named[0]
