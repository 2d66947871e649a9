"""Health of this process: alive, and able to reach its database.

`/v2/health/live` is answered here as well, since every container's health check asks for it; `/v2/health/ready` means
that a node can run something, which the scheduler knows.
"""

from __future__ import annotations

from fastapi import APIRouter, Response
from sqlalchemy import text

from rlx_compile_api.service import Held

__all__ = ["router"]

router = APIRouter(tags=["health"])


@router.get("/v1/health/live", response_class=Response)
@router.get("/v2/health/live", include_in_schema=False)
async def live() -> Response:
    """This process answers."""
    return Response()


@router.get("/v1/health/ready", response_class=Response)
def ready(service: Held) -> Response:
    """It can take work. Redis need not be there: what is owed to it is sent later."""
    service.database.read(lambda session: session.connection().execute(text("SELECT 1")))
    return Response()
