"""Compile jobs, their progress and their end."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Annotated, Final

from fastapi import APIRouter, Header, Query, Response
from sse_starlette import EventSourceResponse, ServerSentEvent
from starlette.concurrency import run_in_threadpool

from rlx_cluster.jobs import FINAL
from rlx_compile_api.repository.jobs import events_after, get_job, list_jobs
from rlx_compile_api.routes.parameters import Cursor, Id, Limit
from rlx_compile_api.service import Held, Service
from rlx_wire.api import CompileRequest, Job, JobState, Name, Page
from rlx_wire.service.logs import current_request_id

__all__ = ["router"]

router = APIRouter(prefix="/v1", tags=["jobs"])

_LOOK_AGAIN: Final = 1.0
_PING: Final = 15


@router.post("/compile", status_code=202)
def compile_model(service: Held, wanted: CompileRequest, response: Response) -> Job:
    """A job with one task a target. Who asks for what is queued, running or done already gets that very job."""
    job = service.submit(wanted, current_request_id() or "")
    response.headers["Location"] = f"/v1/jobs/{job.id}"
    return job


@router.get("/jobs")
def get_jobs(
    service: Held,
    cursor: Cursor = None,
    limit: Limit = 50,
    state: Annotated[JobState | None, Query()] = None,
    model: Annotated[Name | None, Query()] = None,
) -> Page[Job]:
    """The jobs, newest first."""
    return service.database.read(lambda session: list_jobs(session, cursor, limit, state, model))


@router.get("/jobs/{job}")
def get_one_job(service: Held, job: Id) -> Job:
    """A job with its tasks and their attempts."""
    return service.database.read(lambda session: get_job(session, job))


@router.post("/jobs/{job}/cancel")
def cancel_job(service: Held, job: Id) -> Job:
    """Ends the job; a task that another job wants goes on. Of a job that has ended: nothing changes."""
    service.orchestration.cancel_job(job)
    return service.database.read(lambda session: get_job(session, job))


@router.get(
    "/jobs/{job}/events",
    response_class=EventSourceResponse,
    responses={
        200: {"description": "Each event is a JobEvent.", "content": {"text/event-stream": {"schema": {}}}},
        204: {"description": "It has ended, and all was told."},
    },
)
async def follow_job(service: Held, job: Id, last_event_id: Annotated[int, Header(ge=0, le=2**31 - 1)] = 0) -> Response:
    """Its history as server-sent events, from the start or after `Last-Event-ID`, until the job ends.

    204 where it has ended and all was told: an EventSource then stops to come back.
    """
    state = (await run_in_threadpool(get_one_job, service, job)).state
    untold = await run_in_threadpool(
        service.database.read, lambda session: events_after(session, job, last_event_id, limit=1)
    )
    if state in FINAL and not untold:
        return Response(status_code=204)
    return EventSourceResponse(_history(service, job, last_event_id), ping=_PING)


async def _history(service: Service, job: str, told: int) -> AsyncIterator[ServerSentEvent]:
    with service.bell.listen() as listener:
        while True:
            # The state is read first: a history read after it holds all that led to that state.
            state = (await run_in_threadpool(get_one_job, service, job)).state
            after = told
            events = await run_in_threadpool(
                service.database.read, lambda session, after=after: events_after(session, job, after)
            )
            for event in events:
                yield ServerSentEvent(event.model_dump_json(exclude_none=True), event=event.kind, id=str(event.id))
                told = event.id
            if not events and (state in FINAL or service.bell.closed):
                return
            if not events:
                await listener.heard(_LOOK_AGAIN)
