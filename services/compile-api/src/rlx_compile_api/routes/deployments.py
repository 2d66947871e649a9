"""Deployments: which nodes should hold which model."""

from __future__ import annotations

import asyncio
from typing import Annotated

from fastapi import APIRouter, Query
from starlette.concurrency import run_in_threadpool

from rlx_compile_api.repository import deployments
from rlx_compile_api.routes.parameters import Cursor, NamePath
from rlx_compile_api.service import Held
from rlx_compile_api.targets import split_target
from rlx_wire.api import Deployment, DeploymentList, DeploymentRequest

__all__ = ["router"]

router = APIRouter(prefix="/v1/deployments", tags=["deployments"])


@router.get("")
async def list_deployments(
    service: Held,
    version: Annotated[int | None, Query(ge=0)] = None,
    wait: Annotated[float, Query(ge=0, le=60, allow_inf_nan=False)] = 0,
    cursor: Cursor = None,
    limit: Annotated[int | None, Query(ge=1, le=200)] = None,
) -> DeploymentList:
    """All of them, or a page, with their artifacts; where `version` is what they are at, held up to `wait` seconds."""
    loop = asyncio.get_running_loop()
    end = loop.time() + wait
    with service.bell.listen() as listener:
        while True:
            listed = await run_in_threadpool(
                service.database.read, lambda session: deployments.list_deployments(session, cursor, limit)
            )
            left = end - loop.time()
            if version != listed.version or left <= 0 or service.bell.closed:
                return listed
            await listener.heard(min(left, 1.0))


@router.put("/{name}")
def put_deployment(service: Held, name: NamePath, wanted: DeploymentRequest) -> Deployment:
    """Creates or replaces one."""
    # Before anything is written: the deployment that is there keeps running.
    for target in wanted.targets:
        split_target(target)
    deployment = service.database.write(
        lambda session: deployments.put_deployment(session, name, wanted, service.clock())
    )
    service.bell.ring()
    return deployment


@router.get("/{name}")
def get_deployment(service: Held, name: NamePath) -> Deployment:
    """One of them."""
    return service.database.read(lambda session: deployments.get_deployment(session, name))


@router.delete("/{name}", status_code=204)
def remove_deployment(service: Held, name: NamePath) -> None:
    """Removes one; the nodes unload what it asked for."""
    service.database.write(lambda session: deployments.remove_deployment(session, name))
    service.bell.ring()
