"""Every refusal is a `Problem`: RLX's own errors, requests that do not validate, unknown routes, faults."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any, Final

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Match, Mount

from rlx_base.errors import InternalError, RequestError, RlxError
from rlx_wire.problem import PROBLEM_MEDIA_TYPE, Problem, Violation
from rlx_wire.service.logs import current_request_id

__all__ = ["RETRY_AFTER_SECONDS", "answer_problems", "problem_response", "violations_of"]

RETRY_AFTER_SECONDS: Final = 1
_METHODS: Final = ("DELETE", "GET", "HEAD", "PATCH", "POST", "PUT")
_log = logging.getLogger("rlx.problems")


def problem_response(error: RlxError, violations: tuple[Violation, ...] = ()) -> Response:
    """An error as its answer: status, problem+json, and when to come again where that may help."""
    problem = Problem.of(error, violations=violations)
    body = problem.model_copy(update={"request_id": current_request_id()}).body()
    headers = {}
    if error.status in {429, 503}:
        headers["Retry-After"] = str(error.fields.get("seconds", RETRY_AFTER_SECONDS))
    if error.status == 401:
        headers["WWW-Authenticate"] = "Bearer"
    return Response(body, error.status, headers, PROBLEM_MEDIA_TYPE)


def violations_of(errors: Sequence[Any]) -> tuple[Violation, ...]:
    """What pydantic found, as the wire says it."""
    return tuple(Violation(field=".".join(map(str, e["loc"])), message=e["msg"]) for e in errors)


def _methods(request: Request) -> list[str]:
    """The methods that the request's path takes, over all of its routes: Starlette knows those of the first alone."""
    routes = [route for route in request.app.routes if not isinstance(route, Mount)]

    def takes(method: str) -> bool:
        return any(route.matches({**request.scope, "method": method})[0] is Match.FULL for route in routes)

    # What no route takes is a static file.
    return [method for method in _METHODS if takes(method)] or ["GET", "HEAD"]


def answer_problems(app: FastAPI) -> None:
    """Makes every refusal of `app` a problem+json answer."""

    async def refused(_: Request, error: Exception) -> Response:
        assert isinstance(error, RlxError)
        if error.status >= 500 and error.status not in (501, 503, 504):
            _log.error("%s", error, exc_info=error)
        return problem_response(error)

    async def invalid(request: Request, error: Exception) -> Response:
        assert isinstance(error, RequestValidationError)
        violations = violations_of(error.errors())
        what = "; ".join(f"{v.field}: {v.message}" for v in violations[:3])
        # The Open Inference Protocol knows 400 alone.
        code = "E419" if request.url.path.startswith("/v2") else "E433"
        return problem_response(RequestError(code, what=what), violations)

    async def unrouted(request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        if isinstance(error.__cause__, RlxError):
            # Raised while the body streamed in, and wrapped by what reads it: a body over its limit.
            return problem_response(error.__cause__)
        if error.status_code == 404:
            return problem_response(RequestError("E422", what=f"route {request.method} {request.url.path}"))
        if error.status_code == 405:
            response = problem_response(RequestError("E439", method=request.method))
            response.headers["Allow"] = ", ".join(_methods(request))
            return response
        return problem_response(RequestError("E419", what=str(error.detail)))

    async def faulted(_: Request, error: Exception) -> Response:
        return problem_response(InternalError("E900", what=f"{type(error).__name__}: {error}"))

    app.add_exception_handler(RlxError, refused)
    app.add_exception_handler(RequestValidationError, invalid)
    app.add_exception_handler(HTTPException, unrouted)
    app.add_exception_handler(Exception, faulted)
