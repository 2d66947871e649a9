"""Models and their versions."""

from __future__ import annotations

from typing import Any, Final

from fastapi import APIRouter, Request, Response
from fastapi.responses import FileResponse

from rlx_compile_api.repository import models
from rlx_compile_api.routes.parameters import Cursor, DigestPath, Limit, NamePath, VersionPath
from rlx_compile_api.service import Held
from rlx_wire.api import Model, ModelVersion, Page, Program
from rlx_wire.service.openapi import file

__all__ = ["router"]

router = APIRouter(prefix="/v1", tags=["models"])

_FILE: Final = {"type": "string", "format": "binary"}
_UPLOAD: Final[dict[str, Any]] = {
    "requestBody": {
        "required": True,
        "content": {
            "multipart/form-data": {
                "schema": {
                    "type": "object",
                    "properties": {"model": _FILE, "weights": {"type": "array", "items": _FILE}},
                    "required": ["model"],
                    "additionalProperties": False,
                }
            },
            "application/zip": {"schema": _FILE},
        },
    }
}


@router.get("/models")
def list_models(service: Held, cursor: Cursor = None, limit: Limit = 50) -> Page[Model]:
    """The models, newest first."""
    return service.database.read(lambda session: models.list_models(session, cursor, limit))


@router.get("/models/{name}")
def get_model(service: Held, name: NamePath) -> Model:
    """A model."""
    return service.database.read(lambda session: models.get_model(session, name))


@router.get("/models/{name}/versions")
def list_versions(service: Held, name: NamePath, cursor: Cursor = None, limit: Limit = 50) -> Page[ModelVersion]:
    """Its versions, newest first."""
    return service.database.read(lambda session: models.list_versions(session, name, cursor, limit))


@router.get("/models/{name}/versions/{version}")
def get_version(service: Held, name: NamePath, version: VersionPath) -> ModelVersion:
    """One version."""
    return service.database.read(lambda session: models.get_version(session, name, version))


@router.get("/models/{name}/versions/{version}/program")
def get_program(service: Held, name: NamePath, version: VersionPath, response: Response) -> Program:
    """What a version computes: its text, and its graph."""
    program = service.program(name, version)
    response.headers["Cache-Control"] = "private, max-age=86400, immutable"
    return program


@router.post(
    "/models/{name}/versions",
    status_code=201,
    openapi_extra=_UPLOAD,
    responses={200: {"model": ModelVersion, "description": "This very program is a version already."}},
)
async def upload_version(service: Held, name: NamePath, request: Request, response: Response) -> ModelVersion:
    """A new version from `.rlx` and weights, or from an `.rlxz`; 200 where this very program is a version already."""
    version, new = await service.upload(name, request)
    response.status_code = 201 if new else 200
    response.headers["Location"] = f"/v1/models/{name}/versions/{version.version}"
    return version


@router.get(
    "/sources/{digest}",
    response_class=FileResponse,
    responses=file("application/octet-stream", "The file, as it was uploaded."),
)
def get_source(service: Held, digest: DigestPath) -> FileResponse:
    """A file of a version's source."""
    if not service.blobs.has_blob(digest):
        # Where a version promises the file, this raises nothing and the store's own error says that it was lost.
        service.database.read(lambda session: models.check_source(session, digest))
    return FileResponse(service.blobs.blob(digest), media_type="application/octet-stream")
