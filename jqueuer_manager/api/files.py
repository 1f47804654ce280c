"""Input files, sent under their checksum before the experiment that needs them."""

from __future__ import annotations

from typing import Final

from flask import Response, request
from flask_openapi.blueprint import APIBlueprint
from flask_openapi.openapi import OpenAPI

from jqueuer.access import Role
from jqueuer.errors import DescriptionError, Fault, NotFoundError
from jqueuer_manager.api.access import needs
from jqueuer_manager.api.answers import answer
from jqueuer_manager.api.bodies import Body
from jqueuer_manager.api.parameters import PREFIX, FilePath
from jqueuer_manager.api.problems import documented
from jqueuer_manager.api.schemas import FileModel
from jqueuer_manager.services import Services

_BYTES: Final = {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}}
_CONTENT: Final = {"content": _BYTES, "required": False}  # a file may be empty


def blueprint(services: Services) -> APIBlueprint:
    """The routes over these services."""
    routes = APIBlueprint(
        "files", __name__, url_prefix=PREFIX, abp_tags=[{"name": "files"}], abp_responses=documented(422, 503)
    )

    @routes.put(
        "/files/<sha256>",
        operation_id="putFile",
        request_body=_CONTENT,
        responses={200: FileModel, 201: FileModel, **documented(400, 413, 507)},
    )
    @needs(Role.SUBMITTER)
    def put(path: FilePath) -> Response:
        """Send a file under the SHA-256 of its content; 200 where it was here before."""
        if services.artifacts.has_input(path.sha256):
            return answer(FileModel(sha256=path.sha256))
        body = Body(request, services.settings.max_input_bytes)
        try:
            services.artifacts.put_input(path.sha256, body.buffered())
        except ValueError as error:
            raise DescriptionError((Fault("sha256", str(error)),)) from None
        return answer(FileModel(sha256=path.sha256), 201)

    @routes.get("/files/<sha256>", operation_id="getFile", responses={200: FileModel, **documented(404)})
    @needs(Role.VIEWER)
    def get(path: FilePath) -> Response:
        """Say whether a file is here; its content is not given out."""
        if not services.artifacts.has_input(path.sha256):
            raise NotFoundError(f"no file with SHA-256 {path.sha256} was sent")
        return answer(FileModel(sha256=path.sha256))

    return routes


def document_head(app: OpenAPI) -> None:
    """Add to the document that HEAD asks the same as GET."""
    item = app.paths[f"{PREFIX}/files/{{sha256}}"]
    item.head = item.get.model_copy(
        deep=True,
        update={
            "operationId": "hasFile",
            "summary": "Say whether a file is here, by the status alone.",
            "responses": {
                status: response.model_copy(update={"content": None}) for status, response in item.get.responses.items()
            },
        },
    )
