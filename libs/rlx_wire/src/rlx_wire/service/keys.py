"""Who may ask: whoever has the key, or one with the scope for it; without any, this machine alone."""

from __future__ import annotations

import hmac
from collections.abc import Awaitable, Callable
from typing import Final, TypeAlias
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from rlx_base.errors import RequestError, RlxError
from rlx_wire.access import Scope as AccessScope
from rlx_wire.service.problems import problem_response
from rlx_wire.service.scopes import scopes_for
from rlx_wire.service.settings import is_loopback

__all__ = ["Ask", "RequireKey", "bearer", "forbidden", "foreign", "is_health", "shown_keys"]

Ask: TypeAlias = Callable[[str], Awaitable[frozenset[AccessScope] | None]]
"""Gives what a key of a user opens, None for one that nobody has. Raises what keeps it from knowing."""

_HEALTH: Final = frozenset({"/v2/health/live", "/v2/health/ready"})


class RequireKey:
    """ASGI layer before every route but health, known or unknown: refuses with E418 a request without the key.

    `ask` is for keys other than `key`, which opens everything: one whose scopes do not fit is refused with E440.

    It is a layer and not a dependency of each route because a dependency runs after the body was read: a stranger would
    have us read theirs first. With `key=None` the service is bound to loopback and open to this machine; a page of
    another site in this machine's browser is not of this machine, so a foreign Host or Origin is refused.
    """

    def __init__(self, app: ASGIApp, key: str | None, ask: Ask | None = None) -> None:
        self.app = app
        self._key = key
        self._ask = ask

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and not is_health(scope["method"], scope["path"]):
            refusal = await self._refusal(scope["method"], scope["path"], Headers(scope=scope))
            if refusal is not None:
                await problem_response(refusal)(scope, receive, send)
                return
        await self.app(scope, receive, send)

    async def _refusal(self, method: str, path: str, headers: Headers) -> RlxError | None:
        if self._key is None:
            return foreign(headers)
        for given in shown_keys(headers):
            # The comparison takes the same time wherever the keys differ.
            if hmac.compare_digest(given.encode(), self._key.encode()):
                return None
            try:
                scopes = None if self._ask is None else await self._ask(given)
            except RlxError as error:
                return error
            if scopes is not None:
                return forbidden(scopes, method, path)
        return RequestError("E418")


def shown_keys(headers: Headers) -> list[str]:
    """The keys that a request shows, in either way."""
    scheme, _, given = headers.get("authorization", "").partition(" ")
    keys = [headers["x-api-key"]] if "x-api-key" in headers else []
    return [*keys, given.strip()] if scheme.lower() == "bearer" else keys


def forbidden(scopes: frozenset[AccessScope], method: str, path: str) -> RlxError | None:
    """E440 where a key with these scopes does not open this route."""
    needed = scopes_for(method, path)
    if "admin" in scopes or not scopes.isdisjoint(needed):
        return None
    return RequestError("E440", has=" and ".join(sorted(scopes)), needs=" or ".join(sorted(needed | {"admin"})))


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
