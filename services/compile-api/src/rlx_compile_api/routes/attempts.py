"""The workers' routes; `rlx_wire.jobs` describes them."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Header, Path, Request
from starlette.concurrency import run_in_threadpool

from rlx_compile_api.routes.parameters import DigestPath, Id
from rlx_compile_api.service import Held
from rlx_compile_api.uploads import save_body
from rlx_wire.jobs import TOKEN_HEADER, Assignment, Claim, Heartbeat, Lease, Result, Token

__all__ = ["router"]

router = APIRouter(prefix="/v1/tasks/{task}/attempts/{attempt}", tags=["workers"])

Number = Annotated[int, Path(ge=1, le=2**31 - 1)]


@router.post("")
def claim_attempt(service: Held, task: Id, attempt: Number, claim: Claim) -> Assignment:
    """Gives the attempt to this worker, or says with 409 why not."""
    return service.attempts.claim(task, attempt, claim)


@router.post("/heartbeat")
def beat(service: Held, task: Id, attempt: Number, heartbeat: Heartbeat) -> Lease:
    """Renews the lease, or says with 409 that the attempt is over."""
    return service.attempts.beat(task, attempt, heartbeat)


@router.put("/artifact/{digest}", status_code=204)
async def upload_artifact(
    service: Held,
    task: Id,
    attempt: Number,
    digest: DigestPath,
    request: Request,
    token: Annotated[Token, Header(alias=TOKEN_HEADER)],
) -> None:
    """Takes the zip of a bundle in; nobody sees it before its attempt is reported."""
    await run_in_threadpool(service.attempts.check, task, attempt, token)
    with service.blobs.scratch() as folder:
        await save_body(request, folder / "bundle.zip")
        await run_in_threadpool(service.attempts.keep, folder / "bundle.zip", digest)


@router.post("/result", status_code=204)
def report_result(service: Held, task: Id, attempt: Number, result: Result) -> None:
    """Ends the attempt."""
    service.attempts.report(task, attempt, result)
