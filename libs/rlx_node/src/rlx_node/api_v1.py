"""RLX's own routes of a node: `/v1/infer`, this node, and the nodes it knows."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Query, Request, Response

from rlx_node.actor import Actor
from rlx_node.bodies import json_body, time_for, unless_gone
from rlx_node.peers import FORWARDED_HEADER
from rlx_wire.inference import InferRequest, InferResponse
from rlx_wire.nodes import NodeId, NodeRecord, NodesView
from rlx_wire.service.logs import current_request_id
from rlx_wire.service.openapi import request_body

__all__ = ["Held", "routes"]

routes = APIRouter(prefix="/v1", tags=["rlx"])


def _actor(request: Request) -> Actor:
    actor: Actor = request.app.state.actor
    return actor


Held = Annotated[Actor, Depends(_actor)]


@routes.post("/infer", response_model=InferResponse, openapi_extra=request_body(InferRequest))
async def infer(request: Request, actor: Held) -> Response:
    """One inference. The answer says where it ran, where its time went and why it ran there."""
    asked = await json_body(request, InferRequest)
    answer = await unless_gone(
        request,
        actor.dataplane.infer(
            asked,
            current_request_id() or "",
            time_for(request, actor.settings.network.latency_budget_ms),
            forwarded=FORWARDED_HEADER in request.headers,
        ),
    )
    return Response(answer.model_dump_json(exclude_none=True), media_type="application/json")


@routes.get("/node")
async def this_node(actor: Held) -> NodeRecord:
    """This node as it is now: devices, level, loaded models."""
    return actor.record()


@routes.get("/nodes")
async def known_nodes(
    actor: Held,
    cursor: Annotated[NodeId | None, Query(description="`next` of the page before")] = None,
    limit: Annotated[int | None, Query(ge=1, le=1000)] = None,
) -> NodesView:
    """The cluster as this node sees it: all of it, or a page by id."""
    return actor.view.as_wire().page(cursor, limit)
