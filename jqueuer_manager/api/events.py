"""What changes, as server-sent events: pages that show it need not ask again and again."""

from __future__ import annotations

from typing import Annotated, Final

from flask import Response
from flask_openapi.blueprint import APIBlueprint
from pydantic import Field

from jqueuer.access import Role
from jqueuer.errors import StoreUnavailableError
from jqueuer_manager.api.access import current_login, needs
from jqueuer_manager.api.experiments import detail_of, page_of
from jqueuer_manager.api.forecasts import Forecasts
from jqueuer_manager.api.gate import Gate, Login
from jqueuer_manager.api.parameters import PREFIX, ExperimentsQuery, Query
from jqueuer_manager.api.problems import Responses, documented
from jqueuer_manager.broadcast import Broadcaster, Message
from jqueuer_manager.services import Services

_STREAM: Final = "text/event-stream"
_EVENTS: Final[Responses] = {
    200: {"description": "A stream that goes on until one of both ends it", "content": {_STREAM: {"schema": {}}}}
}


class EventsQuery(Query):
    """What to be told of."""

    experiment: Annotated[
        str, Field(pattern=r"^(|[a-z0-9][a-z0-9-]{0,62})$", description="Only of this one; without it, of the list")
    ] = ""


def blueprint(services: Services, gate: Gate, forecasts: Forecasts) -> APIBlueprint:
    """The routes over these services."""
    routes = APIBlueprint(
        "events", __name__, url_prefix=PREFIX, abp_tags=[{"name": "experiments"}], abp_responses=documented(422, 503)
    )

    def make(experiment_id: str) -> Message:
        if not experiment_id:
            page = page_of(services, ExperimentsQuery()).model_dump_json()
            return Message("experiments", page, page)
        detail = detail_of(services, forecasts, experiment_id)
        # How long it is until the deadline changes all the time, and everybody can tell.
        likeness = detail.model_copy(update={"seconds_left": None}).model_dump_json()
        return Message("experiment", detail.model_dump_json(), likeness)

    def welcome(login: Login) -> bool:
        try:
            return gate.still_in(login)
        except StoreUnavailableError:
            return True

    broadcaster = Broadcaster(make, services.stopping)

    @routes.get("/events", operation_id="watchEvents", responses={**_EVENTS, **documented(404)})
    @needs(Role.VIEWER)
    def events(query: EventsQuery) -> Response:
        """Tell what changes, once a second at most: of an experiment its detail, else the first page of the list."""
        if query.experiment:
            services.experiments.get(query.experiment)
        login = current_login()
        stream = broadcaster.listen(query.experiment, lambda: welcome(login))
        return Response(stream, content_type=_STREAM, headers={"X-Accel-Buffering": "no"})

    return routes
