"""The machines that containers run on."""

from __future__ import annotations

from flask import Response
from flask_openapi.blueprint import APIBlueprint
from pydantic import BaseModel

from jqueuer.access import Role
from jqueuer.records import NodeStatus
from jqueuer_manager.api.access import needs
from jqueuer_manager.api.answers import answer
from jqueuer_manager.api.parameters import PREFIX
from jqueuer_manager.api.problems import documented
from jqueuer_manager.services import Services


class NodeList(BaseModel):
    """Every node, ready or not; sizes in bytes, processors in cores."""

    nodes: list[NodeStatus]


def blueprint(services: Services) -> APIBlueprint:
    """The routes over these services."""
    routes = APIBlueprint(
        "nodes", __name__, url_prefix=PREFIX, abp_tags=[{"name": "nodes"}], abp_responses=documented(422, 503)
    )

    @routes.get("/nodes", operation_id="listNodes", responses={200: NodeList})
    @needs(Role.VIEWER)
    def listing() -> Response:
        """List the nodes with what they have, what of it is reserved, and how many containers of experiments."""
        return answer(NodeList(nodes=list(services.orchestrator.machines())))

    return routes
