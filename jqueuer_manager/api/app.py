"""The application: blueprints, errors, headers and the OpenAPI document put together."""

from __future__ import annotations

from flask import Response, jsonify, request
from flask_openapi.openapi import OpenAPI

from jqueuer import __version__
from jqueuer_manager.api import (
    access,
    artifacts,
    events,
    experiments,
    files,
    health,
    history,
    jobs,
    legacy,
    lifecycle,
    nodes,
    outputs,
    pages,
    problems,
    session,
    tokens,
)
from jqueuer_manager.api.bodies import drain
from jqueuer_manager.api.forecasts import Forecasts
from jqueuer_manager.api.gate import Gate
from jqueuer_manager.api.headers import refuse_cross_site, refuse_other_names, secure
from jqueuer_manager.api.parameters import PREFIX
from jqueuer_manager.api.refusals import RefusedLogins
from jqueuer_manager.openness import is_loopback
from jqueuer_manager.receiver import Receiver
from jqueuer_manager.services import Services

DOCUMENT = f"{PREFIX}/openapi.json"


def create_app(services: Services) -> OpenAPI:
    """The WSGI application over the given ports; of its own it keeps forecasts and wrong logins, a minute at most."""
    app = OpenAPI(
        "jqueuer_manager",
        info={
            "title": "JQueuer",
            "version": __version__,
            "description": "Experiments of thousands of container jobs, finished before a deadline.",
        },
        validation_error_model=problems.Problem,
        validation_error_callback=problems.invalid_parameters,
        security_schemes={name: {"type": "http", "scheme": "bearer"} for name in (access.SECURITY, artifacts.SECURITY)},
        doc_ui=False,
        static_folder=None,
    )
    app.openapi_version = "3.1.0"
    settings, receiver = services.settings, Receiver(services)
    refused = RefusedLogins(settings.max_refused_logins)
    gate = Gate(settings, services.tokens, services.sessions, refused)
    forecasts = Forecasts(services)
    for blueprint in (
        files.blueprint(services),
        experiments.blueprint(services, receiver, forecasts),
        events.blueprint(services, gate, forecasts),
        lifecycle.blueprint(services),
        nodes.blueprint(services),
        jobs.blueprint(services),
        history.blueprint(services),
        outputs.blueprint(services),
        legacy.blueprint(services, receiver),
        tokens.blueprint(services),
        session.blueprint(gate),
        health.blueprint(services, refused),
        artifacts.blueprint(services, gate),
    ):
        app.register_api(blueprint)
    app.register_blueprint(pages.blueprint())
    problems.install(app)
    app.before_request(refuse_cross_site)
    if settings.authentication == "none" and is_loopback(settings.host):
        app.before_request(refuse_other_names)
    access.install(app, gate, elsewhere=frozenset({artifacts.NAME}))
    app.after_request(drain)
    app.after_request(secure)
    access.describe(app)
    files.document_head(app)

    @app.after_request
    def tell_the_loop(response: Response) -> Response:
        if request.method not in {"GET", "HEAD", "OPTIONS"} and request.blueprint != artifacts.NAME:
            services.changed.set()
        return response

    @app.route(DOCUMENT)
    @access.open_to_all
    def openapi() -> Response:
        return jsonify(app.api_doc)

    return app
