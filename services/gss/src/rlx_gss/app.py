"""The HTTP face of a GSS replica: nodes register and report, everybody asks who is there. It places nothing."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from importlib.metadata import version
from typing import Annotated

from fastapi import APIRouter, Depends, FastAPI, Query, Request, Response
from fastapi import Path as PathParam

from rlx_gss.registry import Registry
from rlx_gss.settings import GssSettings
from rlx_gss.store import NodeStore, RedisStore
from rlx_wire.nodes import NodeId, NodeRegistered, NodeRegistration, NodeStatus, NodesView
from rlx_wire.service.bodies import BodyLimit
from rlx_wire.service.keys import RequireKey, is_health
from rlx_wire.service.logs import RequestIds
from rlx_wire.service.openapi import describe, unique_id
from rlx_wire.service.problems import answer_problems

__all__ = ["create_app"]

routes = APIRouter(prefix="/v1/nodes", tags=["nodes"])
health = APIRouter(prefix="/v2/health", tags=["health"])


def _registry(request: Request) -> Registry:
    registry: Registry = request.app.state.registry
    return registry


Held = Annotated[Registry, Depends(_registry)]
Node = Annotated[NodeId, PathParam()]


@routes.post("")
async def register_node(node: NodeRegistration, registry: Held) -> NodeRegistered:
    """Begins a new life of a node; its incarnation follows all earlier ones."""
    return await registry.register(node)


@routes.put("/{node}/status", status_code=204)
async def report_node_status(node: Node, status: NodeStatus, registry: Held) -> None:
    """The level of a node now. 409: not known here in this life, so register again."""
    await registry.report(node, status)


@routes.get("")
async def get_available_nodes(
    registry: Held,
    version: Annotated[int | None, Query(ge=0)] = None,
    epoch: str = "",
    wait: Annotated[float, Query(ge=0, le=30, allow_inf_nan=False)] = 0,
    cursor: Annotated[NodeId | None, Query(description="`next` of the page before")] = None,
    limit: Annotated[int | None, Query(ge=1, le=1000)] = None,
) -> NodesView:
    """Who is there: all, or a page by id. With the `version` and `epoch` of the view one has, held up to `wait`
    seconds until it changed.
    """
    view = registry.view() if version is None else await registry.news(version, epoch, wait)
    return view.page(cursor, limit)


@routes.delete("/{node}", status_code=204)
async def remove_node(node: Node, registry: Held, incarnation: Annotated[int | None, Query(ge=1)] = None) -> None:
    """A node leaves (it names its incarnation), or an operator removes one that is down."""
    await registry.leave(node, incarnation)


@health.get("/live", response_class=Response, operation_id="live")
@health.get("/ready", response_class=Response, operation_id="ready")
async def healthy() -> Response:
    """This process answers. Without its Redis it does too: the view comes from the nodes."""
    return Response()


def create_app(
    settings: GssSettings, store: NodeStore | None = None, clock: Callable[[], float] = time.monotonic
) -> FastAPI:
    """The application; tests bring their own store and clock."""
    heartbeat = settings.heartbeat_ms / 1e3
    kept = store if store is not None else RedisStore(settings.redis)
    registry = Registry(kept, clock, heartbeat)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        await registry.restore()
        ticking = asyncio.create_task(_tick(registry, heartbeat))
        yield
        ticking.cancel()
        await asyncio.gather(ticking, return_exceptions=True)
        await kept.close()

    app = FastAPI(
        title="RLX Global State Service",
        version=version("rlx-gss"),
        lifespan=lifespan,
        redirect_slashes=False,
        redoc_url=None,
        generate_unique_id_function=unique_id,
    )
    app.state.registry = registry
    app.add_middleware(BodyLimit, limit_of=lambda *_: (settings.max_body_bytes, "max_body_bytes"))
    app.add_middleware(RequireKey, key=settings.key)
    app.add_middleware(RequestIds)
    answer_problems(app)
    app.include_router(health)
    app.include_router(routes)
    describe(app, is_open=is_health)
    return app


async def _tick(registry: Registry, every: float) -> None:
    """Wakes the long polls when a node falls silent, although nobody speaks."""
    while True:
        await asyncio.sleep(every)
        registry.tick()
