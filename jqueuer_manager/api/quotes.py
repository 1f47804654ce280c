"""``POST /quotes``: what could be promised about an experiment; it is neither kept nor run."""

from __future__ import annotations

from flask import Response, request
from flask_openapi.blueprint import APIBlueprint

from jqueuer.access import Role
from jqueuer_manager.api.access import needs
from jqueuer_manager.api.answers import answer
from jqueuer_manager.api.bodies import Body, require_media_type
from jqueuer_manager.api.parameters import QuoteQuery
from jqueuer_manager.api.problems import documented
from jqueuer_manager.api.schemas import QuoteModel
from jqueuer_manager.api.submit import BODY, JSON, LINES, YAML
from jqueuer_manager.quotes import quote_description, quote_lines
from jqueuer_manager.services import Services


def add_routes(routes: APIBlueprint, services: Services) -> None:
    """Add the route to the blueprint of the experiments."""

    @routes.post(
        "/quotes",
        operation_id="quoteExperiment",
        request_body=BODY,
        responses={200: QuoteModel, **documented(400, 413, 415)},
    )
    @needs(Role.SUBMITTER)
    def quote(query: QuoteQuery) -> Response:
        """Say whether an experiment's deadline can be kept, at what cost, and else what could be promised."""
        media_type = require_media_type(JSON | YAML | LINES)
        body = Body(request, services.settings.max_body_bytes).buffered()
        if media_type in LINES:
            return answer(QuoteModel.of(quote_lines(services, body)))
        return answer(QuoteModel.of(quote_description(services, body.read(), query.source)))
