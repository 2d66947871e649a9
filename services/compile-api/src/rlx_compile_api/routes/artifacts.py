"""Committed bundles."""

from __future__ import annotations

from pathlib import PurePath
from typing import Annotated, Final

from fastapi import APIRouter, Header, Path, Query, Response
from fastapi.responses import FileResponse, StreamingResponse

from rlx_base.errors import RequestError
from rlx_compile_api.repository import artifacts
from rlx_compile_api.routes.parameters import Cursor, DigestPath, Limit
from rlx_compile_api.service import Held
from rlx_wire.api import Artifact, Name, Page, VersionNumber
from rlx_wire.service.openapi import file

__all__ = ["router"]

router = APIRouter(prefix="/v1/artifacts", tags=["artifacts"])

File = Annotated[str, Path(pattern=r"^[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}$", description="a file of the bundle")]
# What a browser may show; code of a bundle never runs there.
_MEDIA_TYPES: Final = {".json": "application/json"} | dict.fromkeys(
    (".rlx", ".ll", ".c", ".h", ".cl", ".ptx"), "text/plain; charset=utf-8"
)
_KINDS: Final = ("application/json", "application/octet-stream", "text/plain")

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


@router.get(
    "/{digest}/bundle",
    response_class=FileResponse,
    responses=file("application/zip", "The bundle.", _304="It is the one that the caller has."),
)
def get_bundle(service: Held, digest: DigestPath, if_none_match: Annotated[str | None, Header()] = None) -> Response:
    """The bundle as a zip. Its content can never change, so its digest is its ETag."""
    get_artifact(service, digest)
    headers = _for_ever(digest)
    if _is_known(headers, if_none_match):
        return Response(status_code=304, headers=headers)
    return FileResponse(service.blobs.archive(digest), media_type="application/zip", headers=headers)


@router.get(
    "/{digest}/files/{file}",
    response_class=StreamingResponse,
    responses={
        200: {"description": "The file, by its own type.", "content": {kind: {} for kind in _KINDS}},
        304: {"description": "It is the one that the caller has."},
    },
)
def get_file(
    service: Held, digest: DigestPath, file: File, if_none_match: Annotated[str | None, Header()] = None
) -> Response:
    """One file of a bundle: `report.json`, `kernel.ll`, `model.rlx` …; its manifest lists them."""
    get_artifact(service, digest)
    headers = _for_ever(f"{digest}/{file}")
    if _is_known(headers, if_none_match):
        return Response(status_code=304, headers=headers)
    content = service.blobs.bundle_file(digest, file)
    if content is None:
        what = f"file {file!r} of artifact {digest[:12]}"
        raise RequestError("E430", what=what, hint="manifest.json lists its files")
    kind = _MEDIA_TYPES.get(PurePath(file).suffix, "application/octet-stream")
    return StreamingResponse(content, media_type=kind, headers=headers)


def _for_ever(what: str) -> dict[str, str]:
    return {"ETag": f'"{what}"', "Cache-Control": "private, max-age=31536000, immutable"}


def _is_known(headers: dict[str, str], if_none_match: str | None) -> bool:
    return if_none_match is not None and headers["ETag"] in {one.strip() for one in if_none_match.split(",")}
