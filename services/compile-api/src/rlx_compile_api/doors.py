"""Who may ask for what, and how often: an ASGI layer that stands before every route, known or unknown.

It is a layer and not a dependency of a route because a dependency runs after the body was read: a stranger would have
us read theirs first, and a new route could be added without the dependency.
"""

from __future__ import annotations

import math
from http.cookies import CookieError, SimpleCookie
from typing import Final

from sqlalchemy.exc import OperationalError
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from rlx_base.errors import ClusterError, RequestError, RlxError
from rlx_compile_api.keys import ROOT, Caller, Keys
from rlx_compile_api.sessions import COOKIE, Sessions
from rlx_wire.service.keys import forbidden, foreign, shown_keys
from rlx_wire.service.problems import problem_response
from rlx_wire.service.rates import Rates

__all__ = ["Doors", "is_open"]

_API: Final = ("/v1", "/v2", "/openapi.json", "/docs")
# Whole paths: by a mere beginning, `/v2/health/../models/…` would pass, and be forwarded with the key of the service.
_HEALTH: Final = frozenset({"/v1/health/live", "/v1/health/ready", "/v2/health/live", "/v2/health/ready"})

# A worker that were told to wait would lose its attempt, and the work with it.
_UNCOUNTED: Final = "/v1/tasks/"


def is_open(method: str, path: str) -> bool:
    """Whether a stranger may ask: for health, the static files, and the way to trade key for cookie."""
    static = method in {"GET", "HEAD"} and not any(path == top or path.startswith(top + "/") for top in _API)
    return static or path in _HEALTH or (method, path) == ("POST", "/v1/session")


class Doors:
    """Lets nobody pass to what is not open to strangers without a key whose scopes fit, nor more often than agreed.

    Without a key in the settings (`sessions` is None) the service is bound to loopback and open to this machine. A page
    of another site in this machine's browser is not of this machine, so a foreign Host or Origin is refused.
    """

    def __init__(self, app: ASGIApp, keys: Keys, sessions: Sessions | None, rates: Rates) -> None:
        self._app = app
        self._keys = keys
        self._sessions = sessions
        self._rates = rates

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            refusal = await self._refusal(scope, Headers(scope=scope))
            if refusal is not None:
                await problem_response(refusal)(scope, receive, send)
                return
        await self._app(scope, receive, send)

    async def _refusal(self, scope: Scope, headers: Headers) -> RlxError | None:
        method, path = scope["method"], scope["path"]
        if self._sessions is None and (strange := foreign(headers)):
            return strange
        if is_open(method, path) and path != "/v1/session":
            return None
        try:
            caller = ROOT if self._sessions is None else await self._caller(self._sessions, headers)
        except OperationalError as error:
            return ClusterError("E535", reason=str(error.orig))
        address = scope["client"][0] if scope.get("client") else "unknown"
        known_by = address if caller is None or self._sessions is None else caller.id
        if not path.startswith(_UNCOUNTED) and (seconds := self._rates.wait(known_by)) > 0:
            return RequestError("E441", rate=self._rates.per_second, seconds=math.ceil(seconds))
        if is_open(method, path):
            return None
        scope["rlx.caller"] = caller
        if caller is None:
            return RequestError("E418")
        return forbidden(caller.scopes, method, path)

    async def _caller(self, sessions: Sessions, headers: Headers) -> Caller | None:
        for key in shown_keys(headers):
            if caller := await run_in_threadpool(self._keys.caller, key):
                return caller
        try:
            cookie = SimpleCookie(headers.get("cookie", "")).get(COOKIE)
        except CookieError:
            return None
        id = None if cookie is None else sessions.key_of(cookie.value)
        return None if id is None else await run_in_threadpool(self._keys.known, id)
