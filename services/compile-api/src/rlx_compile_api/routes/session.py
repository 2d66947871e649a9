"""The page's way in: a key for a cookie that scripts cannot read and other sites cannot use."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response

from rlx_base.errors import RequestError
from rlx_compile_api.keys import Caller
from rlx_compile_api.service import Held
from rlx_compile_api.sessions import COOKIE
from rlx_wire.access import SCOPES, Access
from rlx_wire.api import SessionRequest

__all__ = ["router"]

router = APIRouter(prefix="/v1/session", tags=["session"])


@router.post("", status_code=204)
def sign_in(given: SessionRequest, request: Request, service: Held) -> Response:
    """401 for a wrong key. Without a key there is nothing to sign in to, and all pass."""
    answer = Response(status_code=204)
    if service.sessions is not None:
        caller = service.keys.caller(given.key)
        if caller is None:
            raise RequestError("E418")
        answer.set_cookie(
            COOKIE,
            service.sessions.issue(caller.id),
            max_age=service.sessions.seconds,
            httponly=True,
            samesite="strict",
            secure=request.url.scheme == "https",
        )
    return answer


@router.get("")
def access(request: Request) -> Access:
    """What the key that this is asked with opens; nodes ask it for the keys that they are shown."""
    caller: Caller = request.scope["rlx.caller"]
    return Access(id=caller.id, scopes=tuple(scope for scope in SCOPES if scope in caller.scopes))


@router.delete("", status_code=204)
async def sign_out() -> Response:
    answer = Response(status_code=204)
    answer.delete_cookie(COOKIE, httponly=True, samesite="strict")
    return answer
