"""Logs as one JSON object a line, each with the id of the request it belongs to."""

from __future__ import annotations

import json
import logging
import re
import sys
import time
import uuid
from contextvars import ContextVar
from typing import Final

from starlette.types import ASGIApp, Message, Receive, Scope, Send

__all__ = ["REQUEST_ID_HEADER", "JsonLines", "RequestIds", "configure_logs", "current_request_id"]

REQUEST_ID_HEADER: Final = "X-Request-Id"
_REQUEST_ID: Final = REQUEST_ID_HEADER.lower().encode()
_FIT: Final = re.compile(rb"[A-Za-z0-9._:/+=-]{1,128}")
_current: ContextVar[str | None] = ContextVar("request_id", default=None)
_log = logging.getLogger("rlx.access")

# What every LogRecord has; the rest came with `extra=`.
_PLAIN: Final = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName", "color_message"}


def current_request_id() -> str | None:
    """The id of the request that this task answers, if it answers one."""
    return _current.get()


class JsonLines(logging.Formatter):
    """`{"time", "level", "logger", "message", "request_id", …}`; `extra=` fields become members."""

    def format(self, record: logging.LogRecord) -> str:
        when = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created))
        line: dict[str, object] = {
            "time": f"{when}.{int(record.msecs):03}Z",
            "level": record.levelname,
            "logger": record.name,
            "message": record.getMessage(),
        }
        if (request_id := _current.get()) is not None:
            line["request_id"] = request_id
        line |= {key: value for key, value in vars(record).items() if key not in _PLAIN}
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return json.dumps(line, default=str, ensure_ascii=False)


def configure_logs(level: str) -> None:
    """Sends every log of this process to standard error, as JSON lines."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines())
    logging.basicConfig(level=level.upper(), handlers=[handler], force=True)
    # Each request is logged here with its id; uvicorn's own access log and httpx's would say it again.
    for name in ("uvicorn.access", "httpx"):
        logging.getLogger(name).setLevel(logging.WARNING)


class RequestIds:
    """ASGI middleware: a request keeps the id it came with, or gets one; the answer and all logs carry it."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        given = dict(scope["headers"]).get(_REQUEST_ID, b"")
        request_id = given.decode() if _FIT.fullmatch(given) else uuid.uuid4().hex
        token = _current.set(request_id)
        started = time.monotonic()
        status = 0

        async def answer(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message = {**message, "headers": [*message["headers"], (_REQUEST_ID, request_id.encode())]}
            await send(message)

        try:
            await self.app(scope, receive, answer)
        finally:
            quiet = scope["path"].startswith("/v2/health/") or scope["path"].endswith("/status")
            _log.log(
                logging.DEBUG if quiet else logging.INFO,
                "%s %s",
                scope["method"],
                scope["path"],
                extra={"status": status, "ms": round((time.monotonic() - started) * 1e3, 1)},
            )
            _current.reset(token)
