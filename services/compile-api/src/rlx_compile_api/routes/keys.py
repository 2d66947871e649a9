"""API keys: made, listed, revoked."""

from __future__ import annotations

from fastapi import APIRouter, Response

from rlx_compile_api.repository import keys
from rlx_compile_api.routes.parameters import Cursor, Id, Limit
from rlx_compile_api.service import Held
from rlx_wire.access import ApiKey, KeyRequest, NewApiKey
from rlx_wire.api import Page

__all__ = ["router"]

router = APIRouter(prefix="/v1/keys", tags=["keys"])


@router.post("", status_code=201)
def create_key(service: Held, wanted: KeyRequest, response: Response) -> NewApiKey:
    """A new key, which only this answer holds."""
    made = service.keys.create(wanted)
    response.headers["Location"] = f"/v1/keys/{made.id}"
    # A proxy that kept this answer would keep the key.
    response.headers["Cache-Control"] = "no-store"
    return made


@router.get("")
def list_keys(service: Held, cursor: Cursor = None, limit: Limit = 50) -> Page[ApiKey]:
    """The keys, newest first, without themselves."""
    return service.database.read(lambda session: keys.list_keys(session, cursor, limit))


@router.get("/{key}")
def get_key(service: Held, key: Id) -> ApiKey:
    """What is known of one, by its id."""
    return service.database.read(lambda session: keys.shown(keys.get_key(session, key)))


@router.delete("/{key}", status_code=204)
def revoke_key(service: Held, key: Id) -> None:
    """It opens nothing from now on."""
    service.keys.revoke(key)
