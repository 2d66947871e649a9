"""One URL for clients: inference goes on to the scheduler, the list of nodes to the GSS, as they came."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Coroutine
from typing import Annotated, Any, Final

import httpx
from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import StreamingResponse

from rlx_base.errors import ClusterError, RequestError
from rlx_compile_api.service import Held, Service
from rlx_wire.inference import InferRequest, InferResponse
from rlx_wire.nodes import NodeId, NodesView
from rlx_wire.service.keys import bearer
from rlx_wire.service.logs import REQUEST_ID_HEADER, current_request_id
from rlx_wire.service.openapi import request_body

__all__ = ["router"]

router = APIRouter(tags=["forwarded"])

_CLIENT_GONE: Final = 499  # nobody reads it

# Of one connection, not of the message (RFC 9110, 7.6.1); what only this service may know or set; and the page's
# Origin, which this service has judged and which means nothing at the next one's address.
_OURS: Final = frozenset(
    "connection keep-alive proxy-authenticate proxy-authorization te trailer transfer-encoding upgrade host "
    f"authorization x-api-key cookie origin {REQUEST_ID_HEADER.lower()}".split()
)


# `/v2` is described where it is answered, by the node's own `openapi.json`.
@router.get("/v2", include_in_schema=False)
async def server_metadata(service: Held, request: Request) -> Response:
    """The scheduler's metadata."""
    return await _forward(service, request, service.settings.scheduler_url, "scheduler")


@router.get("/v2/{path:path}", include_in_schema=False)
async def ask_scheduler(service: Held, request: Request) -> Response:
    """The Open Inference Protocol's questions: health, models, statistics."""
    return await _forward(service, request, service.settings.scheduler_url, "scheduler")


@router.post("/v2/{path:path}", include_in_schema=False)
async def post_to_scheduler(service: Held, request: Request) -> Response:
    """The Open Inference Protocol's inference and repository."""
    return await _forward(service, request, service.settings.scheduler_url, "scheduler")


@router.post("/v1/infer", response_model=InferResponse, openapi_extra=request_body(InferRequest))
async def infer(service: Held, request: Request) -> Response:
    """One inference."""
    return await _forward(service, request, service.settings.scheduler_url, "scheduler")


@router.get("/v1/nodes", response_model=NodesView)
async def list_nodes(
    service: Held,
    request: Request,
    cursor: Annotated[NodeId | None, Query()] = None,
    limit: Annotated[int | None, Query(ge=1, le=1000)] = None,
) -> Response:
    """The nodes, as the GSS sees them."""
    url = service.settings.gss_url
    if url is None:
        raise ClusterError("E531", service="GSS", url="(gss_url is not set)", reason="no address")
    return await _forward(service, request, url, "GSS")


async def _forward(service: Service, request: Request, base: str, name: str) -> Response:
    """Streams both ways. A client that goes away ends the request there too. Raises E531; E422 for a path that climbs,
    which would arrive as another one than was let in here."""
    if {".", ".."} & set(request.scope["path"].split("/")):
        raise RequestError("E422", what=f"route {request.method} {request.scope['path']}")
    client: httpx.AsyncClient = request.app.state.client
    headers = {key: value for key, value in request.headers.items() if key not in _OURS}
    headers |= bearer(service.settings.key) | {REQUEST_ID_HEADER: current_request_id() or ""}
    target = f"{base.rstrip('/')}{request.scope['raw_path'].decode('ascii', 'replace')}"
    passed_on = asyncio.Event()
    try:
        asked = client.build_request(
            request.method,
            target,
            params=request.url.query or None,
            headers=headers,
            content=_body(request, passed_on) if request.method == "POST" else None,
        )
        if request.method != "POST":
            passed_on.set()
        answer = await _unless_gone(client.send(asked, stream=True), request, passed_on)
    except (httpx.TransportError, httpx.InvalidURL) as error:
        raise ClusterError("E531", service=name, url=base, reason=str(error) or type(error).__name__) from error
    if answer is None:
        return Response(status_code=_CLIENT_GONE)
    kept = {key: value for key, value in answer.headers.items() if key not in _OURS}
    return StreamingResponse(_content(answer), answer.status_code, kept)


async def _body(request: Request, passed_on: asyncio.Event) -> AsyncIterator[bytes]:
    async for chunk in request.stream():
        yield chunk
    passed_on.set()


async def _unless_gone(
    sending: Coroutine[Any, Any, httpx.Response], request: Request, passed_on: asyncio.Event
) -> httpx.Response | None:
    """The answer, or None once the client has gone away: the request then ends at the scheduler too."""

    async def gone() -> None:
        await passed_on.wait()  # until then, the stream of the body reads what the client sends
        while (await request.receive())["type"] != "http.disconnect":
            pass

    answering, watching = asyncio.create_task(sending), asyncio.create_task(gone())
    try:
        await asyncio.wait({answering, watching}, return_when=asyncio.FIRST_COMPLETED)
        return await answering if answering.done() else None
    finally:
        for task in (answering, watching):
            task.cancel()
        await asyncio.gather(answering, watching, return_exceptions=True)


async def _content(answer: httpx.Response) -> AsyncIterator[bytes]:
    try:
        async for chunk in answer.aiter_raw():
            yield chunk
    finally:
        await answer.aclose()
