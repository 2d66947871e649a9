"""Who may ask, and how much they may send: two ASGI layers that stand before every route, known or unknown.

They are layers and not dependencies of a route because a dependency runs after the body was read: a stranger would have
us read theirs first, and a new route could be added without the dependency.
"""

from __future__ import annotations

import hashlib
import hmac
import time
from collections.abc import Callable
from http.cookies import CookieError, SimpleCookie
from typing import Final

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from rlx_base.errors import RequestError, RlxError
from rlx_wire.service.keys import foreign
from rlx_wire.service.problems import problem_response

__all__ = ["COOKIE", "BodyLimit", "Doors", "Sessions"]

COOKIE: Final = "rlx_session"
_SESSION_SECONDS: Final = 12 * 3600
_API: Final = ("/v1", "/v2", "/openapi.json", "/docs")
# Whole paths: by a mere beginning, `/v2/health/../models/…` would pass, and be forwarded with the key of the service.
_HEALTH: Final = frozenset({"/v1/health/live", "/v1/health/ready", "/v2/health/live", "/v2/health/ready"})


class Sessions:
    """Cookies for the page: an end time, signed with the key. Nothing is stored; a changed key ends all of them."""

    def __init__(self, key: str, clock: Callable[[], float] = time.time) -> None:
        self._key = key
        self._clock = clock

    @property
    def seconds(self) -> int:
        return _SESSION_SECONDS

    def knows(self, key: str) -> bool:
        return hmac.compare_digest(key.encode(), self._key.encode())

    def issue(self) -> str:
        end = str(int(self._clock()) + _SESSION_SECONDS)
        return f"{end}.{self._sign(end)}"

    def admits(self, cookie: str) -> bool:
        end, _, signature = cookie.partition(".")
        genuine = hmac.compare_digest(signature.encode(), self._sign(end).encode())
        return genuine and self._clock() < int(end)

    def _sign(self, end: str) -> str:
        return hmac.new(self._key.encode(), f"session {end}".encode(), hashlib.sha256).hexdigest()


class Doors:
    """Lets nobody without the key pass to anything but health, the static files, and the way to trade key for cookie.

    Without a key (`sessions` is None) the service is bound to loopback and open to this machine. A page of another site
    in this machine's browser is not of this machine, so a foreign Host or Origin is refused.
    """

    def __init__(self, app: ASGIApp, sessions: Sessions | None) -> None:
        self._app = app
        self._sessions = sessions

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            refusal = self._refusal(scope["method"], scope["path"], Headers(scope=scope))
            if refusal is not None:
                await problem_response(refusal)(scope, receive, send)
                return
        await self._app(scope, receive, send)

    def _refusal(self, method: str, path: str, headers: Headers) -> RlxError | None:
        if self._sessions is None:
            return foreign(headers)
        static = method in {"GET", "HEAD"} and not any(path == top or path.startswith(top + "/") for top in _API)
        if static or path in _HEALTH or (method, path) == ("POST", "/v1/session"):
            return None
        return None if self._admits(self._sessions, headers) else RequestError("E418")

    def _admits(self, sessions: Sessions, headers: Headers) -> bool:
        scheme, _, bearer = headers.get("authorization", "").partition(" ")
        if scheme.lower() == "bearer" and sessions.knows(bearer.strip()):
            return True
        if sessions.knows(headers.get("x-api-key", "")):
            return True
        try:
            cookie = SimpleCookie(headers.get("cookie", "")).get(COOKIE)
        except CookieError:
            return False
        return cookie is not None and sessions.admits(cookie.value)


class BodyLimit:
    """Counts the body while it streams in, and ends it with E431 where it grows over the limit of its route.

    `limit_of` gives for method and path the limit and the name of the setting that raises it.
    """

    def __init__(self, app: ASGIApp, limit_of: Callable[[str, str], tuple[int, str]]) -> None:
        self._app = app
        self._limit_of = limit_of

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        limit, setting = self._limit_of(scope["method"], scope["path"])
        too_large = RequestError("E431", limit=f"{limit} bytes", setting=setting)
        declared = Headers(scope=scope).get("content-length", "")
        if declared.isdecimal() and int(declared) > limit:
            await problem_response(too_large)(scope, receive, send)
            return
        received = 0

        async def counted() -> Message:
            nonlocal received
            message = await receive()
            received += len(message.get("body", b""))
            if received > limit:
                raise too_large
            return message

        await self._app(scope, counted, send)
