"""Health of this process: alive, and able to reach its database. `/v2/health` is the scheduler's."""

from __future__ import annotations

from fastapi import APIRouter, Response
from sqlalchemy import text

from rlx_compile_api.service import Held

__all__ = ["router"]

router = APIRouter(prefix="/v1/health", tags=["health"])


@router.get("/live")
async def live() -> Response:
    """This process answers."""
    return Response()


@router.get("/ready")
def ready(service: Held) -> Response:
    """It can take work. Redis need not be there: what is owed to it is sent later."""
    service.database.read(lambda session: session.connection().execute(text("SELECT 1")))
    return Response()
