"""Committed bundles."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Header, Query, Response
from fastapi.responses import FileResponse

from rlx_compile_api.repository import artifacts
from rlx_compile_api.routes.parameters import Cursor, DigestPath, Limit
from rlx_compile_api.service import Held
from rlx_wire.api import Artifact, Name, Page, VersionNumber

__all__ = ["router"]

router = APIRouter(prefix="/v1/artifacts", tags=["artifacts"])

Word = Annotated[str | None, Query(pattern=r"^[a-z0-9][a-z0-9._+-]{0,63}$")]


@router.get("")
def list_artifacts(
    service: Held,
    cursor: Cursor = None,
    limit: Limit = 50,
    model: Annotated[Name | None, Query()] = None,
    version: Annotated[VersionNumber | None, Query()] = None,
    target: Word = None,
    cpu: Word = None,
) -> Page[Artifact]:
    """The artifacts, newest first; those of a model, of one version, for a target or a CPU."""
    return service.database.read(
        lambda session: artifacts.list_artifacts(
            session, cursor, limit, model=model, version=version, target=target, cpu=cpu
        )
    )


@router.get("/{digest}")
def get_artifact(service: Held, digest: DigestPath) -> Artifact:
    """One artifact."""
    return service.database.read(lambda session: artifacts.get_artifact(session, digest))


@router.get("/{digest}/bundle", response_class=FileResponse)
def get_bundle(service: Held, digest: DigestPath, if_none_match: Annotated[str | None, Header()] = None) -> Response:
    """The bundle as a zip. Its content can never change, so its digest is its ETag."""
    get_artifact(service, digest)
    tag = f'"{digest}"'
    headers = {"ETag": tag, "Cache-Control": "private, max-age=31536000, immutable"}
    if if_none_match is not None and tag in {one.strip() for one in if_none_match.split(",")}:
        return Response(status_code=304, headers=headers)
    return FileResponse(service.blobs.archive(digest), media_type="application/zip", headers=headers)
