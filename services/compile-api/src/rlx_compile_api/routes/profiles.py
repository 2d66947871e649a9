"""Profiles."""

from __future__ import annotations

from typing import Annotated, Any, Final

from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import FileResponse

from rlx_compile_api.repository import profiles
from rlx_compile_api.routes.parameters import Cursor, Id, Limit
from rlx_compile_api.service import Held
from rlx_wire.api import Name, Page, Profile

__all__ = ["router"]

router = APIRouter(prefix="/v1/profiles", tags=["profiles"])

_LIST: Final[dict[str, Any]] = {"type": "array"}
_EVENTS: Final[dict[str, Any]] = {
    "anyOf": [_LIST, {"type": "object", "properties": {"traceEvents": _LIST}, "required": ["traceEvents"]}]
}
_TRACE: Final[dict[str, Any]] = {
    "requestBody": {"required": True, "content": {"application/json": {"schema": _EVENTS}}}
}


@router.post("", status_code=201, openapi_extra=_TRACE)
async def upload_profile(
    service: Held,
    request: Request,
    response: Response,
    model: Annotated[Name | None, Query()] = None,
    note: Annotated[str | None, Query(pattern=r"^[^\x00-\x1f]{0,1000}$")] = None,
) -> Profile:
    """Keeps a Chrome trace."""
    profile = await service.keep_profile(request, model, note)
    response.headers["Location"] = f"/v1/profiles/{profile.id}"
    return profile


@router.get("")
def list_profiles(service: Held, cursor: Cursor = None, limit: Limit = 50) -> Page[Profile]:
    """The profiles, newest first."""
    return service.database.read(lambda session: profiles.list_profiles(session, cursor, limit))


@router.get("/{profile}")
def get_profile(service: Held, profile: Id) -> Profile:
    """What is known of one."""
    return service.database.read(lambda session: profiles.get_profile(session, profile))


@router.get(
    "/{profile}/trace",
    response_class=FileResponse,
    responses={200: {"description": "A Chrome trace.", "content": {"application/json": {"schema": {}}}}},
)
def get_trace(service: Held, profile: Id) -> FileResponse:
    """The trace itself, as it came."""
    row = get_profile(service, profile)
    return FileResponse(service.blobs.blob(row.digest), media_type="application/json")
