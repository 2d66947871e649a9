"""Reading requests: parsed once, and dropped when the caller hangs up. `BodyLimit` has bounded them by then."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, ValidationError
from starlette.requests import ClientDisconnect, Request

from rlx_base.errors import RequestError
from rlx_node.peers import TIMEOUT_HEADER

__all__ = ["json_body", "time_for", "unless_gone"]

Body = TypeVar("Body", bound=BaseModel)
T = TypeVar("T")


async def json_body(request: Request, schema: type[Body]) -> Body:
    """The body as its schema says. Raises E432, E433 (E419 on `/v2`)."""
    kind = request.headers.get("content-type", "application/json").partition(";")[0].strip().lower()
    if kind not in ("application/json", "application/octet-stream"):
        raise RequestError("E432", type=kind, expected="application/json")
    try:
        return schema.model_validate_json(await request.body())
    except ValidationError as error:
        raise RequestValidationError(error.errors(include_url=False, include_input=False)) from None


def time_for(request: Request, default_ms: int) -> float:
    """Seconds that a request has: what its header says, at most a day. Raises E419."""
    text = request.headers.get(TIMEOUT_HEADER)
    if text is None:
        return default_ms / 1e3
    if not text.isascii() or not text.isdigit() or not 0 < int(text[:12]) <= 86_400_000:
        raise RequestError("E419", what=f"{TIMEOUT_HEADER} is {text!r}, not a number of milliseconds")
    return int(text) / 1e3


async def unless_gone(request: Request, work: Coroutine[Any, Any, T]) -> T:
    """The result of `work`, which is cancelled when the caller hangs up, so that it does not hold a slot."""
    task = asyncio.ensure_future(work)
    hung_up = asyncio.ensure_future(_hang_up(request))
    try:
        await asyncio.wait({task, hung_up}, return_when=asyncio.FIRST_COMPLETED)
        if not task.done():
            raise ClientDisconnect
        return task.result()
    finally:
        for each in (task, hung_up):
            each.cancel()
        await asyncio.gather(task, hung_up, return_exceptions=True)


async def _hang_up(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass
