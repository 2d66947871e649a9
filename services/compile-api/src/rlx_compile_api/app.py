"""The application: layers, routes, and what runs beside them."""

from __future__ import annotations

import logging
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import httpx
from fastapi import FastAPI
from fastapi.middleware.gzip import GZipMiddleware
from fastapi.staticfiles import StaticFiles
from sqlalchemy.exc import OperationalError
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from rlx_base.errors import ClusterError
from rlx_compile_api.broker import Broker
from rlx_compile_api.doors import Doors, is_open
from rlx_compile_api.inspection import Inspector, Refused
from rlx_compile_api.routes import (
    artifacts,
    attempts,
    deployments,
    forwarding,
    health,
    jobs,
    keys,
    models,
    profiles,
    session,
)
from rlx_compile_api.service import COMPILER_VERSION, Service
from rlx_compile_api.settings import Settings
from rlx_wire.inference import InferRequest
from rlx_wire.problem import PROBLEM_MEDIA_TYPE
from rlx_wire.service.bodies import BodyLimit
from rlx_wire.service.logs import RequestIds, current_request_id
from rlx_wire.service.openapi import describe, unique_id
from rlx_wire.service.problems import answer_problems, problem_response
from rlx_wire.service.rates import Rates

__all__ = ["create_app", "page_in"]

log = logging.getLogger(__name__)


def create_app(
    settings: Settings,
    broker: Broker | None = None,
    clock: Callable[[], float] = time.time,
    inspector: Inspector | None = None,
) -> FastAPI:
    """The application; tests bring their own broker, clock and inspector."""
    service = Service.build(settings, broker, clock, inspector)

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        service.bell.attach()
        running = service.running()
        await run_in_threadpool(running.__enter__)
        try:
            # No timeout between two reads: how long an inference may take is the scheduler's to say.
            async with httpx.AsyncClient(timeout=httpx.Timeout(5.0, read=None, pool=None)) as client:
                app.state.client = client
                yield
        finally:
            await run_in_threadpool(running.__exit__, None, None, None)

    app = FastAPI(
        title="RLX compile-api",
        version=COMPILER_VERSION,
        lifespan=lifespan,
        redirect_slashes=False,
        redoc_url=None,
        generate_unique_id_function=unique_id,
    )
    app.state.service = service
    answer_problems(app)
    app.add_exception_handler(Refused, _refused)
    app.add_exception_handler(OperationalError, _database_down)
    for part in (health, session, keys, models, jobs, attempts, artifacts, deployments, profiles, forwarding):
        app.include_router(part.router)
    if settings.web_folder is not None:
        page = StaticFiles(directory=page_in(settings.web_folder), html=True)
        app.mount("/", GZipMiddleware(page, compresslevel=6), name="web")
    describe(app, is_open=is_open, bodies=(InferRequest,))
    # The last one added is the first to see a request.
    app.add_middleware(BodyLimit, limit_of=_limits(settings))
    rates = Rates(settings.requests_per_second, settings.request_burst)
    app.add_middleware(Doors, keys=service.keys, sessions=service.sessions, rates=rates)
    app.add_middleware(RequestIds)
    return app


def page_in(folder: Path) -> Path:
    """The dashboard where `make web` has built it, else the plain page that needs no build, else the folder itself."""
    for page in (folder / "dist", folder / "plain"):
        if (page / "index.html").is_file():
            return page
    return folder


def _limits(settings: Settings) -> Callable[[str, str], tuple[int, str]]:
    def limit_of(method: str, path: str) -> tuple[int, str]:
        if path.startswith("/v2") or path == "/v1/infer":
            return settings.max_inference_bytes, "max_inference_bytes"
        if (method == "POST" and path.startswith("/v1/models/")) or (method == "PUT" and path.startswith("/v1/tasks/")):
            return settings.max_upload_bytes, "max_upload_bytes"
        if path == "/v1/profiles":
            return settings.max_profile_bytes, "max_profile_bytes"
        return settings.max_body_bytes, "max_body_bytes"

    return limit_of


async def _database_down(_: Request, error: Exception) -> Response:
    """While the database restarts, callers are told to come again."""
    log.error("the database failed: %s", error)
    return problem_response(ClusterError("E535", reason=str(getattr(error, "orig", error))))


async def _refused(_: Request, error: Exception) -> Response:
    assert isinstance(error, Refused)
    problem = error.problem.model_copy(update={"request_id": current_request_id()})
    return Response(problem.body(), problem.status, media_type=PROBLEM_MEDIA_TYPE)
