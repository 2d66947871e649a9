"""The HTTP application around an actor, and an actor for this machine."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

import httpx
from fastapi import FastAPI, Request
from starlette.requests import ClientDisconnect
from starlette.responses import Response

from rlx_cluster.deployments import Replica
from rlx_node import api_v1, api_v2
from rlx_node.actor import VERSION, Actor
from rlx_node.devices import capabilities, devices
from rlx_node.holdings import DeviceExecutor
from rlx_node.settings import NodeSettings
from rlx_runtime import Executor
from rlx_wire.inference import InferRequest
from rlx_wire.open_inference import InferRequestV2
from rlx_wire.service.bodies import BodyLimit
from rlx_wire.service.keys import RequireKey, bearer, is_health
from rlx_wire.service.logs import RequestIds
from rlx_wire.service.openapi import describe, unique_id
from rlx_wire.service.problems import answer_problems

__all__ = ["create_actor", "create_app"]


def create_actor(
    settings: NodeSettings,
    kinds: Iterable[str] | None = None,
    local: Mapping[Replica, Path] | None = None,
    observed: Callable[[DeviceExecutor], DeviceExecutor] = lambda executor: executor,
) -> Actor:
    """An actor with this machine's devices of these `kinds` (all, where None), each in an executor of its
    own.

    `local` are bundles that it serves from the start, whoever deploys what. `observed` may stand between the actor and
    an executor, to see its runs.
    """
    entry = settings.entry
    found = devices(kinds, entry.devices if entry is not None else ())
    runtime = settings.runtime
    executors = {
        device.id: observed(
            Executor(
                device.id,
                threads=None if runtime.threads == "auto" else runtime.threads,
                in_flight=runtime.context_pool_size,
                queue=runtime.queue,
            )
        )
        for device in found
        if device.targets
    }
    limits = httpx.Limits(max_connections=256, max_keepalive_connections=64)
    http = httpx.AsyncClient(headers=bearer(settings.key), limits=limits, trust_env=False)
    return Actor(settings, found, capabilities(settings.labels), executors, http, local=local)


def create_app(actor: Actor, title: str = "RLX node") -> FastAPI:
    """The routes of a node. The actor starts and ends with the application."""

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        await actor.start()
        try:
            yield
        finally:
            await actor.close()

    app = FastAPI(
        title=title,
        version=VERSION,
        lifespan=lifespan,
        redirect_slashes=False,
        redoc_url=None,
        generate_unique_id_function=unique_id,
    )
    app.state.actor = actor
    limit = actor.settings.runtime.max_request_bytes
    app.add_middleware(BodyLimit, limit_of=lambda *_: (limit, "runtime.max_request_bytes"))
    app.add_middleware(RequireKey, key=actor.settings.key, ask=actor.asked_keys)
    app.add_middleware(RequestIds)
    answer_problems(app)
    app.add_exception_handler(ClientDisconnect, _nobody_listens)
    app.include_router(api_v2.health)
    app.include_router(api_v1.routes)
    app.include_router(api_v2.routes)
    describe(app, is_open=is_health, bodies=(InferRequest, InferRequestV2))
    return app


async def _nobody_listens(_: Request, __: Exception) -> Response:
    """For the log alone: the caller hung up."""
    return Response(status_code=499)
