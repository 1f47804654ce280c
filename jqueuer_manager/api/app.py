"""The application: blueprints, errors, headers and the OpenAPI document put together."""

from __future__ import annotations

from flask import Response, jsonify, request
from flask_openapi.openapi import OpenAPI

from jqueuer import __version__
from jqueuer_manager.api import artifacts, experiments, files, health, jobs, legacy, lifecycle, outputs, problems
from jqueuer_manager.api.bodies import drain
from jqueuer_manager.api.headers import refuse_cross_site, secure
from jqueuer_manager.api.parameters import PREFIX
from jqueuer_manager.receiver import Receiver
from jqueuer_manager.services import Services

DOCUMENT = f"{PREFIX}/openapi.json"


def create_app(services: Services) -> OpenAPI:
    """The WSGI application over the given ports; it keeps no state of its own but forecasts, for a second."""
    app = OpenAPI(
        "jqueuer_manager",
        info={
            "title": "JQueuer",
            "version": __version__,
            "description": "Experiments of thousands of container jobs, finished before a deadline.",
        },
        validation_error_model=problems.Problem,
        validation_error_callback=problems.invalid_parameters,
        security_schemes={artifacts.SECURITY: {"type": "http", "scheme": "bearer"}},
        doc_ui=False,
        static_folder=None,
    )
    app.openapi_version = "3.1.0"
    receiver = Receiver(services)
    for blueprint in (
        files.blueprint(services),
        experiments.blueprint(services, receiver),
        lifecycle.blueprint(services),
        jobs.blueprint(services),
        outputs.blueprint(services),
        legacy.blueprint(services, receiver),
        health.blueprint(services),
        artifacts.blueprint(services),
    ):
        app.register_api(blueprint)
    problems.install(app)
    app.before_request(refuse_cross_site)
    app.after_request(drain)
    app.after_request(secure)
    files.document_head(app)

    @app.after_request
    def tell_the_loop(response: Response) -> Response:
        if request.method not in {"GET", "HEAD", "OPTIONS"} and request.blueprint != artifacts.NAME:
            services.changed.set()
        return response

    @app.route(DOCUMENT)
    def openapi() -> Response:
        return jsonify(app.api_doc)

    return app
