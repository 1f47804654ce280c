"""For the machines that watch the manager: alive, ready, metrics."""

from __future__ import annotations

from typing import Final

from flask import Response, request
from flask_openapi.blueprint import APIBlueprint
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, ProcessCollector, generate_latest

from jqueuer import __version__
from jqueuer.access import Role
from jqueuer.errors import StoreUnavailableError
from jqueuer_manager.api.access import needs, open_to_all
from jqueuer_manager.api.answers import answer
from jqueuer_manager.api.metrics import ManagerCollector
from jqueuer_manager.api.problems import Responses, documented
from jqueuer_manager.api.refusals import RefusedLogins
from jqueuer_manager.api.schemas import Health
from jqueuer_manager.services import Services

OPEN_REQUESTS: Final = "jqueuer.open_requests"
"""In the WSGI environment of a request: what tells how many are open now, by kind. Set by who counts them."""

_METRICS: Final[Responses] = {
    200: {"description": "Prometheus text format", "content": {"text/plain": {"schema": {"type": "string"}}}}
}


def blueprint(services: Services, refused: RefusedLogins) -> APIBlueprint:
    """The routes over these services."""
    routes = APIBlueprint("health", __name__, abp_tags=[{"name": "health"}], abp_responses=documented(422))
    registry = CollectorRegistry()
    ProcessCollector(registry=registry)
    ProcessCollector("jqueuer_control", pid=lambda: services.control_pid() or "none", registry=registry)
    registry.register(
        ManagerCollector(
            services,
            refused_logins=lambda: refused.total,
            open_requests=lambda: request.environ.get(OPEN_REQUESTS, dict)(),
        )
    )

    @routes.get("/healthz", operation_id="alive", responses={200: Health})
    @open_to_all
    def alive() -> Response:
        """Say that the process is alive; asks nobody else."""
        return answer(Health(status="alive", version=__version__))

    @routes.get("/readyz", operation_id="ready", responses={200: Health, **documented(503)})
    @open_to_all
    def ready() -> Response:
        """Say whether the manager can do its work: its store answers."""
        is_ready, reason = services.ready()
        if not is_ready:
            raise StoreUnavailableError(reason)
        return answer(Health(status="ready", version=__version__))

    @routes.get("/metrics", operation_id="metrics", responses={**_METRICS, **documented(503)})
    @needs(Role.VIEWER, with_metrics_token=True)
    def metrics() -> Response:
        """Numbers for Prometheus; nothing is decided by them."""
        return Response(generate_latest(registry), content_type=CONTENT_TYPE_LATEST)

    return routes
