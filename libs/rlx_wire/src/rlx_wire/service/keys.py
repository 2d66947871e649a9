"""Who may ask: whoever has the key; without one, this machine alone."""

from __future__ import annotations

import hmac
from typing import Final
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from rlx_base.errors import RequestError, RlxError
from rlx_wire.service.problems import problem_response
from rlx_wire.service.settings import is_loopback

__all__ = ["RequireKey", "bearer", "foreign", "is_health"]

_HEALTH: Final = frozenset({"/v2/health/live", "/v2/health/ready"})


class RequireKey:
    """ASGI layer before every route but health, known or unknown: refuses with E418 a request without the key.

    It is a layer and not a dependency of each route because a dependency runs after the body was read: a stranger would
    have us read theirs first. With `key=None` the service is bound to loopback and open to this machine; a page of
    another site in this machine's browser is not of this machine, so a foreign Host or Origin is refused.
    """

    def __init__(self, app: ASGIApp, key: str | None) -> None:
        self.app = app
        self._key = key

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and not is_health(scope["method"], scope["path"]):
            refusal = self._refusal(Headers(scope=scope))
            if refusal is not None:
                await problem_response(refusal)(scope, receive, send)
                return
        await self.app(scope, receive, send)

    def _refusal(self, headers: Headers) -> RlxError | None:
        if self._key is None:
            return foreign(headers)
        scheme, _, given = headers.get("authorization", "").partition(" ")
        # The comparison takes the same time wherever the keys differ.
        admitted = scheme.lower() == "bearer" and hmac.compare_digest(given.strip().encode(), self._key.encode())
        return None if admitted else RequestError("E418")


def is_health(method: str, path: str) -> bool:
    """What strangers may ask a node or the GSS."""
    return path in _HEALTH


def foreign(headers: Headers) -> RlxError | None:
    """E438 for a request that does not come from this machine's own programs or pages."""
    host = headers.get("host", "")
    if not is_loopback(_hostname(host)):
        return RequestError("E438", what=f"without a key, this service answers to loopback names only, not {host!r}")
    origin = headers.get("origin")
    if origin is not None and origin.partition("://")[2] != host:
        return RequestError("E438", what=f"without a key, this service does not serve pages of {origin!r}")
    return None


def bearer(key: str | None) -> dict[str, str]:
    """The headers with which one service asks another."""
    return {} if key is None else {"Authorization": f"Bearer {key}"}


def _hostname(host: str) -> str:
    try:
        return urlsplit(f"//{host}").hostname or ""
    except ValueError:
        return ""
